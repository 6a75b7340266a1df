package ensembles

import (
	"net"
	_ "unsafe" // for go:linkname
)

type conn = net.Conn

// valCtxCh is what the Done of a watch's context returns in etcd's client: a channel that is never closed, made when the
// program starts. It belongs to no bubble, and a goroutine that waits for it keeps the clock from moving. Nil means
// the same, "never done", and nobody waits for it.
//
//go:linkname valCtxCh go.etcd.io/etcd/client/v3.valCtxCh
var valCtxCh chan struct{}

func init() { valCtxCh = nil }
