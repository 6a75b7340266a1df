package redis

// Full is full, for the tests that see the package from outside.
var Full = full
