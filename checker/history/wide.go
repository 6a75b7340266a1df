//go:build 386 || arm || mips || mipsle

package history

// Times are in nanoseconds and counters grow large, so int must have 64 bits. On other platforms, the next line does
// not compile, and the undefined name in it says why.
var _ = fencepost_needs_a_64_bit_platform
