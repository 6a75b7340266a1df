//go:build linux && amd64

package traced

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// A process reads its clocks without a system call. To make this possible, its vDSO functions are overwritten with
// jumps to code in a page that the machine adds to the process. This code reads and advances the clocks in another
// page, which the machine shares with all processes. The shared page contains
//
//	0   the wall clock of the running process, in ns
//	8   its monotonic clock
//	16  how far these clocks may advance before something else is due
//
// Only one thread runs at a time, so a single page is enough for all processes, and it needs no lock.
const (
	pageSize = 4096
	pageAt   = 0x600000000000
	codeAt   = pageAt + pageSize
)

// Indexes of the values in the shared page.
const (
	wallNow = iota
	monotonicNow
	mayAdvance
)

// tick is how much virtual time each clock reading and each modeled system call takes, in ns.
const tick = 1000

// readClock is the code that stands in for clock_gettime:
//
//	        cmp  edi, 11            ; a clock that the machine keeps?
//	        ja   call
//	        mov  eax, 0x8F3         ; REALTIME, MONOTONIC, _RAW, _COARSE, BOOTTIME, TAI
//	        bt   eax, edi
//	        jnc  call
//	        movabs r8, pageAt
//	        sub  qword [r8+16], tick
//	        jle  due
//	        add  qword [r8], tick
//	        add  qword [r8+8], tick
//	        mov  ecx, 0x821         ; those that show wall time
//	        bt   ecx, edi
//	        mov  rax, [r8+8]
//	        jnc  1f
//	        mov  rax, [r8]
//	1:      xor  edx, edx
//	        mov  ecx, 1000000000
//	        div  rcx
//	        mov  [rsi], rax
//	        mov  [rsi+8], rdx
//	        xor  eax, eax
//	        ret
//	due:    add  qword [r8+16], tick
//	call:   mov  eax, 228           ; the machine answers
//	        syscall
//	        ret
const readClock = "83ff0b775ab8f30800000fa3f8735049b8000000000060000049816810e80300007e34498100e803000049814008e803" +
	"0000b9210800000fa3f9498b40087303498b0031d2b900ca9a3b48f7f14889064889560831c0c349814010e8030000b8e40000000f05c3"

// standIns returns the replacement code for each vDSO function.
func standIns() map[string][]byte {
	clock, err := hex.DecodeString(readClock)
	if err != nil {
		panic(err)
	}
	call := func(nr uint32) []byte { // mov eax, nr; syscall; ret
		return append(le.AppendUint32([]byte{0xb8}, nr), 0x0f, 0x05, 0xc3)
	}
	return map[string][]byte{
		"__vdso_clock_gettime": clock,
		"__vdso_gettimeofday":  call(unix.SYS_GETTIMEOFDAY),
		"__vdso_time":          call(unix.SYS_TIME),
		"__vdso_getcpu":        call(unix.SYS_GETCPU),
		"__vdso_clock_getres":  call(unix.SYS_CLOCK_GETRES),
		"__vdso_getrandom":     {0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3}, // mov rax, -ENOSYS; ret
	}
}

// mapPages maps the shared page and the code page into a stopped process. It closes the file descriptor needed for
// this.
func (m *Tracer) mapPages(p *Process, sp uint64) error {
	path := fmt.Appendf(nil, "/proc/%d/fd/%d\x00", unix.Getpid(), m.pageFD)
	if !poke(p.pid, sp, path) {
		return errors.New("its stack cannot be written to")
	}
	fd, err := inject(p.pid, unix.SYS_OPEN, sp, unix.O_RDWR)
	if err != nil {
		return err
	}
	const fixed = unix.MAP_FIXED_NOREPLACE
	_, err = inject(p.pid, unix.SYS_MMAP, pageAt, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|fixed,
		fd, 0)
	if err != nil {
		return err
	}
	_, err = inject(p.pid, unix.SYS_MMAP, codeAt, pageSize, unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|fixed, ^uint64(0), 0)
	if err != nil {
		return err
	}
	_, err = inject(p.pid, unix.SYS_CLOSE, fd)
	return err
}

// patchVDSO overwrites the functions of the vDSO at address base.
func (p *Process) patchVDSO(base uint64) error {
	functions, err := functionsOf(p.pid, base)
	if err != nil {
		return err
	}
	at := uint64(codeAt)
	all := standIns()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f, ok := functions[name]
		if !ok {
			continue
		}
		jump := append(le.AppendUint64([]byte{0x48, 0xb8}, at), 0xff, 0xe0) // movabs rax, at; jmp rax
		if err := errors.Join(pokeCode(p.pid, at, all[name]), pokeCode(p.pid, f, jump)); err != nil {
			return err
		}
		at += 256
	}
	return nil
}

// functionsOf finds a vDSO's functions in a process's memory.
func functionsOf(pid int, base uint64) (map[string]uint64, error) {
	image := make([]byte, 2*pageSize)
	if !peek(pid, base, image) && !peek(pid, base, image[:pageSize]) {
		return nil, errors.New("its vDSO cannot be read")
	}
	var dynamic uint64
	headers, n := le.Uint64(image[32:]), uint64(le.Uint16(image[56:]))
	for i := range n {
		if h := image[headers+i*56:]; le.Uint32(h) == 2 { // PT_DYNAMIC
			dynamic = le.Uint64(h[8:])
		}
	}
	table := map[uint64]uint64{}
	for d := dynamic; d+16 <= uint64(len(image)) && le.Uint64(image[d:]) != 0; d += 16 {
		table[le.Uint64(image[d:])] = le.Uint64(image[d+8:])
	}
	const dtHash, dtStrings, dtSymbols = 4, 5, 6
	symbols, strings := table[dtSymbols], table[dtStrings]
	count := uint64(64)
	if h := table[dtHash]; h != 0 {
		count = uint64(le.Uint32(image[h+4:]))
	} else if strings > symbols {
		count = min(count, (strings-symbols)/24)
	}
	found := map[string]uint64{}
	for i := range count {
		s := symbols + i*24
		if s+24 > uint64(len(image)) {
			break
		}
		from := strings + uint64(le.Uint32(image[s:]))
		to := from
		for to < uint64(len(image)) && image[to] != 0 {
			to++
		}
		if value := le.Uint64(image[s+8:]); value != 0 && to < uint64(len(image)) {
			found[string(image[from:to])] = base + value
		}
	}
	if found["__vdso_clock_gettime"] == 0 {
		return nil, errors.New("its vDSO has no clock_gettime")
	}
	return found, nil
}
