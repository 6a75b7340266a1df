// Package libraries tests widely used Go lock libraries under faults, through adapters for package scenarios/locktest.
// It is a separate module, so that importing Fencepost does not download the libraries.
package libraries
