//go:build 386 || arm || mips || mipsle

package history

// Times are nanoseconds and counts go far: int must have 64 bits. This line is an error, and its name says why.
var _ = fencepost_needs_a_64_bit_platform
