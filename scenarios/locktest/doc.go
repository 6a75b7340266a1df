// Package locktest puts a Go lock library, as it is shipped, before simulated Redis servers, and reports whether it
// excludes.
package locktest
