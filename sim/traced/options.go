//go:build linux && amd64

package traced

import (
	"slices"

	"golang.org/x/sys/unix"
)

// option is a numeric TCP socket option. It can be set and read, but has no effect.
type option struct {
	initial     int32
	least, most int32 // values outside this range are refused
}

// optionName identifies an option by its level and its name.
type optionName struct{ level, name uint64 }

// Limits of the options' values.
const (
	mostSeconds = 32767 // maximum of the keep-alive times
	mostNumber  = 1<<31 - 1
	mostBuffer  = 212_992 // default of net.core.rmem_max and wmem_max
)

// options lists the options whose values are numbers.
var options = map[optionName]option{
	{unix.IPPROTO_TCP, unix.TCP_NODELAY}:          {0, -mostNumber, mostNumber},
	{unix.IPPROTO_TCP, unix.TCP_CORK}:             {0, -mostNumber, mostNumber},
	{unix.IPPROTO_TCP, unix.TCP_MAXSEG}:           {536, 88, 32767},
	{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}:         {7200, 1, mostSeconds},
	{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}:        {75, 1, mostSeconds},
	{unix.IPPROTO_TCP, unix.TCP_KEEPCNT}:          {9, 1, 127},
	{unix.IPPROTO_TCP, unix.TCP_SYNCNT}:           {6, 1, 127},
	{unix.IPPROTO_TCP, unix.TCP_LINGER2}:          {60, -1, 120},
	{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT}:     {0, 0, mostNumber},
	{unix.IPPROTO_TCP, unix.TCP_QUICKACK}:         {1, -mostNumber, mostNumber},
	{unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT}: {0, 0, 1},
	{unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT}:    {0, -mostNumber, mostNumber},
	{unix.IPPROTO_IP, unix.IP_TOS}:                {0, -mostNumber, mostNumber},
	{unix.IPPROTO_IP, unix.IP_TTL}:                {64, 1, 255},
	{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}:         {0, -mostNumber, mostNumber},
	{unix.IPPROTO_IPV6, unix.IPV6_TCLASS}:         {0, 0, 255},
	{unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS}:   {64, 1, 255},
	{unix.SOL_SOCKET, unix.SO_SNDBUF}:             {16_384, -mostNumber, mostNumber},
	{unix.SOL_SOCKET, unix.SO_RCVBUF}:             {131_072, -mostNumber, mostNumber},
	{unix.SOL_SOCKET, unix.SO_REUSEPORT}:          {0, -mostNumber, mostNumber},
	{unix.SOL_SOCKET, unix.SO_INCOMING_CPU}:       {0, -mostNumber, mostNumber},
}

// flags lists the options whose values are stored as 0 or 1.
var flags = []optionName{{unix.IPPROTO_TCP, unix.TCP_NODELAY}, {unix.IPPROTO_TCP, unix.TCP_CORK},
	{unix.IPPROTO_TCP, unix.TCP_QUICKACK}, {unix.IPPROTO_IPV6, unix.IPV6_V6ONLY},
	{unix.SOL_SOCKET, unix.SO_REUSEPORT}}

// structs maps options to the sizes of their values. Reading one of these options returns the bytes that were set.
var structs = map[optionName]uint64{{unix.SOL_SOCKET, unix.SO_LINGER}: 8, {unix.SOL_SOCKET, unix.SO_RCVTIMEO}: 16,
	{unix.SOL_SOCKET, unix.SO_SNDTIMEO}: 16}

// setsockopt stores an option's value. It also stores the read timeout.
func (t *thread) setsockopt() outcome {
	r := &t.regs
	c := t.connOf()
	if c == nil {
		return passes
	}
	name := optionName{r.Rsi, r.Rdx}
	size, isStruct := structs[name]
	o, isNumber := options[name]
	switch {
	case name.level == unix.IPPROTO_IPV6 && !c.six || name.level == unix.IPPROTO_TCP && !isNumber:
		return t.errs(unix.ENOPROTOOPT)
	case !isStruct && !isNumber && name.level == unix.SOL_SOCKET:
		return passes
	case !isStruct && !isNumber:
		return t.gives(0)
	case isNumber:
		size = 4
	}
	b := make([]byte, size)
	switch {
	case r.R8 < size:
		return t.errs(unix.EINVAL)
	case !peek(t.tid, r.R10, b):
		return t.errs(unix.EFAULT)
	}
	if isNumber {
		v := int32(le.Uint32(b))
		if v < o.least || v > o.most {
			return t.errs(unix.EINVAL)
		}
		le.PutUint32(b, uint32(storedValue(name, v)))
	}
	if name.name == unix.SO_RCVTIMEO && isStruct {
		c.patience = int64(le.Uint64(b))*1e9 + int64(le.Uint64(b[8:]))*1000
	}
	if c.options == nil {
		c.options = map[optionName][]byte{}
	}
	c.options[name] = b
	return t.gives(0)
}

// storedValue returns the value that is read back after an option has been set to v.
func storedValue(name optionName, v int32) int32 {
	const leastSent, leastReceived, congestion = 4608, 2304, 3
	switch {
	case slices.Contains(flags, name):
		return min(max(v, -v), 1)
	case name == optionName{unix.SOL_SOCKET, unix.SO_SNDBUF}:
		return max(2*min(unsigned(v), mostBuffer), leastSent)
	case name == optionName{unix.SOL_SOCKET, unix.SO_RCVBUF}:
		return max(2*min(unsigned(v), mostBuffer), leastReceived)
	case name == optionName{unix.IPPROTO_IP, unix.IP_TOS}:
		return v & 0xff &^ congestion
	}
	return v
}

// unsigned returns v, or the largest number if v is negative, because the kernel treats v as unsigned.
func unsigned(v int32) int32 {
	if v < 0 {
		return mostNumber
	}
	return v
}

func (t *thread) getsockopt() outcome {
	r := &t.regs
	c := t.connOf()
	if c == nil {
		return passes
	}
	b, ok := c.option(optionName{r.Rsi, r.Rdx})
	switch {
	case r.Rsi == unix.SOL_SOCKET && !ok:
		return passes
	case r.Rsi == unix.IPPROTO_IPV6 && !c.six:
		return t.errs(unix.EOPNOTSUPP)
	case !ok:
		return t.errs(unix.ENOPROTOOPT)
	}
	room := int32(peek32(t.tid, r.R8))
	if room < 0 {
		return t.errs(unix.EINVAL)
	}
	if r.Rsi == unix.IPPROTO_IP && room > 0 && room < 4 {
		room = 1 // the values of these options are single bytes
	}
	b = b[:min(int(room), len(b))]
	if !poke(t.tid, r.R10, b) || !poke32(t.tid, r.R8, uint32(len(b))) {
		return t.errs(unix.EFAULT)
	}
	return t.gives(0)
}

// option returns an option's value. ok is false if the machine does not store it.
func (c *Conn) option(name optionName) (value []byte, ok bool) {
	number := func(v int32) []byte { return le.AppendUint32(nil, uint32(v)) }
	if b, set := c.options[name]; set {
		return b, true
	}
	if size, known := structs[name]; known {
		return make([]byte, size), true
	}
	if o, known := options[name]; known && (c.six || name.level != unix.IPPROTO_IPV6) {
		return number(o.initial), true
	}
	const socket, information = unix.SOL_SOCKET, 104 // information is the size of a tcp_info, in bytes
	switch {
	case name == optionName{socket, unix.SO_ERROR} && c.state == failed:
		e := c.error
		c.error = 0
		return number(int32(e)), true
	case name == optionName{socket, unix.SO_DOMAIN} && c.six:
		return number(unix.AF_INET6), true
	case name == optionName{socket, unix.SO_DOMAIN}:
		return number(unix.AF_INET), true
	case name == optionName{socket, unix.SO_PROTOCOL}:
		return number(unix.IPPROTO_TCP), true
	case name == optionName{unix.IPPROTO_TCP, unix.TCP_INFO}:
		b := make([]byte, information)
		b[0] = c.tcpState()
		return b, true
	case name == optionName{unix.IPPROTO_TCP, unix.TCP_CONGESTION}:
		return append([]byte("cubic"), make([]byte, 11)...), true
	}
	return nil, false
}

// tcpState returns a connection's state as a number, as in tcp_info.
func (c *Conn) tcpState() byte {
	const established, sent, closed = 1, 2, 7
	switch {
	case c.state == open:
		return established
	case c.state == dialing && c.dialed:
		return sent
	}
	return closed
}
