//go:build linux && amd64

package traced

import (
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// A process's TCP socket is actually an AF_UNIX socket. When the process makes the connect system call, the socket is
// connected to the machine, which holds the other end. When bytes arrive for the process, the machine writes them to
// that end, so the kernel handles reads, poll and epoll as for any socket. Bytes that the process writes never reach
// the kernel: the machine takes them when the process makes the system call.
//
// While the connection is not open, junk fills the socket's buffer. The socket is then not writable, which is what poll
// and epoll report for a TCP socket that is still connecting. One byte of junk stays unread at the machine's end: if
// that end is closed while something is unread, the process gets ECONNRESET.

// Conn is one of a process's connections.
type Conn struct {
	To    netip.AddrPort
	State any // for use by the network

	p        *Process
	inode    uint64
	number   int  // number of the socket among those created on the way to a checkpoint
	six      bool // the socket was created for the domain AF_INET6
	state    state
	dialed   bool
	end      int // file descriptor of the machine's end; -1: none
	port     int // port of the process's end
	dialler  *thread
	error    unix.Errno // why the connection could not be opened, until the process has asked for this
	pending  []byte     // data that was delivered but is not in the kernel yet, because its buffer is full
	finished bool       // nothing more will be delivered
	patience int64      // SO_RCVTIMEO, in ns; 0: none
	options  map[optionName][]byte
}

// Process returns the process that the machine was told to start. It or one of its descendants opened the connection.
func (c *Conn) Process() *Process { return c.p.first }

// listen creates the socket to which processes' sockets are connected.
func (m *Tracer) listen() (err error) {
	const kind = unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	if m.listener, err = unix.Socket(unix.AF_UNIX, kind, 0); err != nil {
		return err
	}
	// The kernel chooses a name in the abstract socket namespace.
	if err := unix.Bind(m.listener, &unix.SockaddrUnix{}); err != nil {
		return err
	}
	if err := unix.Listen(m.listener, 16); err != nil {
		return err
	}
	name, err := unix.Getsockname(m.listener)
	if err != nil {
		return err
	}
	m.address.Name = name.(*unix.SockaddrUnix).Name
	return nil
}

func (t *thread) socket() outcome {
	domain, kind := t.regs.Rdi, t.regs.Rsi&0xf
	switch {
	case domain == unix.AF_UNIX:
		return passes
	case domain == unix.AF_NETLINK: // libraries use it to ask for the host's addresses
		return t.errs(unix.EAFNOSUPPORT)
	case domain != unix.AF_INET && domain != unix.AF_INET6 || kind != unix.SOCK_STREAM:
		t.p.refuse("a socket other than a TCP socket, such as one for looking up names")
		return t.errs(unix.EACCES)
	}
	m := t.p.m
	fd := t.passThrough(func(r *unix.PtraceRegs) { r.Rdi, r.Rdx = unix.AF_UNIX, 0 })
	if fd < 0 {
		return answered
	}
	own, ok := t.p.dup(uint64(fd))
	if !ok {
		return answered
	}
	_, _, inode := kindOf(own)
	unix.Close(own)
	c := &Conn{p: t.p, inode: inode, six: domain == unix.AF_INET6, end: -1, To: unspecified}
	if m.way != nil {
		c.number = m.way.sockets
	}
	m.conns[inode] = c
	return answered
}

// conn returns the connection behind one of a process's file descriptors, or nil if the file is not a connection. It
// also returns a duplicate of the descriptor, which the caller must close.
func (t *thread) conn(fd uint64) (c *Conn, own int) {
	own, ok := t.p.dup(fd)
	if !ok {
		return nil, -1
	}
	mode, _, inode := kindOf(own)
	if c = t.p.m.conns[inode]; mode == unix.S_IFSOCK && c != nil {
		return c, own
	}
	unix.Close(own)
	return nil, -1
}

func (t *thread) connect() outcome {
	b := make([]byte, min(t.regs.Rdx, 128))
	if !peek(t.tid, t.regs.Rsi, b) || len(b) < 2 {
		return t.errs(unix.EFAULT)
	}
	c, own := t.conn(t.regs.Rdi)
	if c == nil {
		return t.errs(unix.ENOENT) // not available: a service of the host, such as nscd
	}
	defer unix.Close(own)
	to, ok := addressIn(b)
	switch {
	case !ok:
		return t.errs(unix.EAFNOSUPPORT)
	case c.state == open:
		return t.errs(unix.EISCONN)
	case c.dialed && c.state == dialing:
		return t.errs(unix.EALREADY)
	case c.state == failed:
		return t.errs(t.p.takeError(c))
	}
	c.To = to
	if err := c.attach(own); err != nil {
		t.p.m.fail(t, "connect", "but the simulation could not connect it: "+err.Error())
		return gone
	}
	t.p.m.options.Network.Dialed(c)
	flags, _ := unix.FcntlInt(uintptr(own), unix.F_GETFL, 0)
	switch {
	case c.state == open:
		return t.gives(0)
	case c.state == failed:
		return t.errs(t.p.takeError(c))
	case flags&unix.O_NONBLOCK != 0:
		return t.errs(unix.EINPROGRESS)
	}
	c.dialler = t
	return t.blocks(block{conn: c, ready: func(bool) bool { return false }})
}

// takeError clears a connection's pending error and returns it. If there is none, it returns ECONNABORTED.
func (p *Process) takeError(c *Conn) unix.Errno {
	e := c.error
	c.error = 0
	if e == 0 {
		return unix.ECONNABORTED
	}
	return e
}

// firstPort is the number before the port of a machine's first connection.
const firstPort = 40000

// junk is how many bytes make a socket unwritable: more than a quarter of its buffer.
const junk = 1 << 16

// attach connects a process's socket to the machine. socket is a duplicate of the process's descriptor.
func (c *Conn) attach(socket int) (err error) {
	m := c.p.m
	if c.end, err = m.attached(socket); err != nil {
		return err
	}
	m.ports++
	c.dialed, c.port = true, firstPort+m.ports%20000
	c.p.conns = append(c.p.conns, c)
	return nil
}

// attached connects a process's socket to the machine and returns the machine's end. socket is a duplicate of the
// process's descriptor.
func (m *Tracer) attached(socket int) (end int, err error) {
	if err := unix.Connect(socket, &m.address); err != nil {
		return -1, err
	}
	end, _, err = unix.Accept4(m.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err = unix.Sendto(socket, make([]byte, junk), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil); err != nil {
		unix.Close(end)
		return -1, err
	}
	return end, nil
}

// Open makes the connection attempt succeed.
func (c *Conn) Open() {
	if c.state != dialing {
		return
	}
	c.state = open
	for left := junk - 1; left > 0; {
		n, err := unix.Read(c.end, make([]byte, left))
		if err != nil || n == 0 {
			break
		}
		left -= n
	}
	c.decided(0)
}

// Refuse makes the connection attempt fail, as if nobody was listening at the address or, if timedOut is true, as if
// nobody had answered for a long time.
func (c *Conn) Refuse(timedOut bool) {
	if c.state != dialing {
		return
	}
	c.state, c.error = failed, unix.ECONNREFUSED
	if timedOut {
		c.error = unix.ETIMEDOUT
	}
	c.hangUp()
	if c.dialler != nil {
		c.decided(c.p.takeError(c))
		return
	}
	c.decided(0)
}

// decided unblocks the thread that is waiting for the outcome of the connection attempt.
func (c *Conn) decided(e unix.Errno) {
	if t := c.dialler; t != nil && t.blocked != nil && t.blocked.conn == c {
		t.finish(-int64(e))
		t.goesOn()
	}
	c.dialler = nil
	c.p.recheck()
}

// hangUp closes the machine's end of the connection.
func (c *Conn) hangUp() {
	if c.end >= 0 {
		unix.Close(c.end)
		c.end = -1
	}
	c.p.conns = slices.DeleteFunc(c.p.conns, func(o *Conn) bool { return o == c })
}

// Deliver makes a copy of b available for the process to read.
func (c *Conn) Deliver(b []byte) {
	if c.state != open || c.end < 0 || c.finished {
		return
	}
	c.pending = append(c.pending, b...)
	c.flush()
	c.p.recheck()
}

// flush writes as much of the delivered data as the kernel accepts.
func (c *Conn) flush() {
	for len(c.pending) > 0 {
		n, err := unix.Write(c.end, c.pending)
		if err != nil || n <= 0 {
			return
		}
		c.pending = c.pending[n:]
	}
	c.pending = nil
	if c.finished {
		unix.Shutdown(c.end, unix.SHUT_WR)
	}
}

// Finish marks the end of the data for the process. Once the process has read everything that was delivered, its reads
// return 0 bytes.
func (c *Conn) Finish() {
	if c.state == open && c.end >= 0 && !c.finished {
		c.finished = true
		c.flush()
		c.p.recheck()
	}
}

// Reset breaks the connection. After the process has read what is left, it gets ECONNRESET.
func (c *Conn) Reset() {
	if c.state == dialing && c.dialed {
		c.Refuse(false)
		return
	}
	if c.state == open {
		c.flush()
		c.state = over
		c.hangUp()
		c.p.recheck()
	}
}

// look finds out which connections a process has closed. It also writes delivered data for which there was no room in
// the sockets before.
func (p *Process) look() {
	p.lookAtSpecial()
	if len(p.conns) == 0 {
		return
	}
	list := make([]unix.PollFd, len(p.conns))
	for i, c := range p.conns {
		list[i] = unix.PollFd{Fd: int32(c.end), Events: unix.POLLRDHUP}
	}
	if pollNow(list) > 0 {
		for i, c := range slices.Clone(p.conns) {
			switch is := list[i].Revents; {
			case is&unix.POLLHUP != 0:
				c.closed()
			case is&unix.POLLRDHUP != 0:
				c.halfClosed()
			}
		}
	}
	for _, c := range p.conns {
		if len(c.pending) > 0 {
			c.flush()
		}
	}
}

// closed is called when the process has closed the connection.
func (c *Conn) closed() {
	c.state = over
	c.hangUp()
	delete(c.p.m.conns, c.inode)
	c.p.m.options.Network.Closed(c)
}

// halfClosed is called when the process has closed its half of the connection (shutdown). The server then closes the
// other half. The process can still read the bytes that have been delivered.
func (c *Conn) halfClosed() {
	unix.Read(c.end, make([]byte, junk)) // what stays unread would reset the connection
	c.closed()
}

// mostWritten is the maximum number of bytes that a process can write to a connection in a single call.
const mostWritten = 1 << 20

// sends handles a write to an open connection: the machine takes the bytes that the thread is writing.
func (t *thread) sends(c *Conn) outcome {
	r := &t.regs
	var b []byte
	ok := true
	take := func(at, n uint64) {
		part := make([]byte, min(n, mostWritten-uint64(len(b))))
		ok = ok && peek(t.tid, at, part)
		b = append(b, part...)
	}
	takeAll := func(list, n uint64) {
		for i := range min(n, 1024) {
			take(peek64(t.tid, list+16*i), peek64(t.tid, list+16*i+8))
		}
	}
	switch t.name {
	case "writev":
		takeAll(r.Rsi, r.Rdx)
	case "sendmsg":
		takeAll(peek64(t.tid, r.Rsi+16), peek64(t.tid, r.Rsi+24))
	default:
		take(r.Rsi, r.Rdx)
	}
	if !ok {
		return t.errs(unix.EFAULT)
	}
	n := int64(len(b))
	t.finish(n)
	t.p.m.options.Network.Wrote(c, b)
	return answered
}

// addressIn decodes a sockaddr with an IPv4 or IPv6 address.
func addressIn(b []byte) (at netip.AddrPort, ok bool) {
	family := le.Uint16(b)
	switch {
	case family == unix.AF_INET && len(b) >= 8:
		port := uint16(b[2])<<8 | uint16(b[3])
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), true
	case family == unix.AF_INET6 && len(b) >= 24:
		port := uint16(b[2])<<8 | uint16(b[3])
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port), true
	}
	return at, false
}

// givesAddress passes an address to a process in the form of a sockaddr, for a system call such as getpeername.
func (t *thread) givesAddress(c *Conn, at netip.AddrPort) outcome {
	b := le.AppendUint16(nil, unix.AF_INET)
	b = append(b, byte(at.Port()>>8), byte(at.Port()))
	if c.six {
		le.PutUint16(b, unix.AF_INET6)
		a := at.Addr().As16()
		b = append(append(append(b, 0, 0, 0, 0), a[:]...), 0, 0, 0, 0)
	} else {
		a := at.Addr().As4()
		b = append(append(b, a[:]...), make([]byte, 8)...)
	}
	room := peek32(t.tid, t.regs.Rdx)
	if !poke(t.tid, t.regs.Rsi, b[:min(int(room), len(b))]) || !poke32(t.tid, t.regs.Rdx, uint32(len(b))) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

// connOf returns the connection behind the file descriptor in a system call's first argument, or nil if the descriptor
// does not belong to a connection.
func (t *thread) connOf() *Conn {
	c, own := t.conn(t.regs.Rdi)
	if c != nil {
		unix.Close(own)
	}
	return c
}

func (t *thread) getsockname() outcome {
	c := t.connOf()
	if c == nil {
		return passes
	}
	if !c.dialed {
		return t.givesAddress(c, unspecified)
	}
	host := netip.AddrFrom4([4]byte{10, 255, 0, byte(slices.Index(c.p.m.processes, c.p.first) + 1)})
	return t.givesAddress(c, netip.AddrPortFrom(host, uint16(c.port)))
}

func (t *thread) getpeername() outcome {
	c := t.connOf()
	if c == nil {
		return passes
	}
	if c.state != open && c.state != over {
		return t.errs(unix.ENOTCONN)
	}
	return t.givesAddress(c, c.To)
}

// shutdown checks a thread's request to shut down a connection, and lets the kernel execute it. If the process can no
// longer write, the machine treats the connection as closed, because servers close a connection when the client has
// sent everything.
func (t *thread) shutdown() outcome {
	c := t.connOf()
	if c == nil {
		return passes
	}
	if c.state != open {
		return t.errs(unix.ENOTCONN)
	}
	t.p.dirty = true
	if how := t.regs.Rsi; how > unix.SHUT_RDWR {
		return t.errs(unix.EINVAL)
	}
	return passes
}
