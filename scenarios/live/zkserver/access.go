package zkserver

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"time"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// superuser is the only user that may read and change znodes, because every process on the machine can connect to a
// member. The run's connections authenticate as this user, with a password that no other user can see
// (DigestAuthenticationProvider).
const superuser = "super"

// denyAll appends a znode's access list to a request record. The list denies access to everyone but the superuser.
func denyAll(r jute.Record) jute.Record { return r.Int(1).Int(31).Text("digest").Text("nobody:x") }

// digest returns the hash of the superuser's password. Members get only this hash, not the password.
func (e *ensemble) digest() string {
	s := sha1.Sum([]byte(superuser + ":" + e.secret))
	return superuser + ":" + base64.StdEncoding.EncodeToString(s[:])
}

// authenticate authenticates a connection as the superuser. The connection must have a session.
func (e *ensemble) authenticate(conn net.Conn) error {
	return ask(conn, jute.Head(jute.XidAuth, jute.Auth).Int(0).Text("digest").Text(superuser+":"+e.secret))
}

// closeRoot restricts the root znode to the superuser. After that, nobody else can create or delete a znode below it.
func (e *ensemble) closeRoot(address string) error {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err = e.enter(conn, 0, ""); err == nil {
		err = ask(conn, denyAll(jute.Head(1, jute.SetACL).Text("/")).Int(-1))
	}
	if err == nil {
		err = ask(conn, jute.Head(2, jute.CloseSession))
	}
	if err != nil {
		return fmt.Errorf("restricting access to the root znode: %w", err)
	}
	return nil
}

// ask sends a request and reads the reply. The connection must not have another pending request.
func ask(conn net.Conn, r jute.Record) error {
	if _, err := conn.Write(r.Framed()); err != nil {
		return err
	}
	f, err := jute.ReadFrame(conn)
	if err != nil {
		return err
	}
	f.Int() // skip the request's number
	f.Long()
	if code := f.Int(); code != 0 {
		return fmt.Errorf("ZooKeeper replied with error %d", code)
	}
	return nil
}
