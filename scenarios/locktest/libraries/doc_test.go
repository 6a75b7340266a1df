// Package libraries tests widely used Go lock libraries under faults, through adapters for package scenarios/locktest.
// It is a module of its own, so that nobody who imports Fencepost downloads their code.
package libraries
