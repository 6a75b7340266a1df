package zkserver

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"time"
)

// Everybody on the machine can connect to a member, so only the superuser can read and change znodes. The run's
// connections are the superuser's, by a password that no other user can see (DigestAuthenticationProvider).
const superuser = "super"

// nobody is the access list of a znode: nobody may do anything.
func (r record) nobody() record { return r.int(1).int(31).text("digest").text("nobody:x") }

// digest is the hash of the superuser's password that a member knows.
func (e *ensemble) digest() string {
	s := sha1.Sum([]byte(superuser + ":" + e.secret))
	return superuser + ":" + base64.StdEncoding.EncodeToString(s[:])
}

// authenticate makes a connection that has a session the superuser's.
func (e *ensemble) authenticate(conn net.Conn) error {
	return ask(conn, record(nil).int(xidAuth).int(opAuth).int(0).text("digest").text(superuser+":"+e.secret))
}

// closeRoot leaves the root to the superuser: others can neither create nor delete a znode below it.
func (e *ensemble) closeRoot(address string) error {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err = e.enter(conn, 0, maxTimeout, 0, ""); err == nil {
		err = ask(conn, record(nil).int(1).int(opSetACL).text("/").nobody().int(-1))
	}
	if err == nil {
		err = ask(conn, record(nil).int(2).int(opCloseSession))
	}
	if err != nil {
		return fmt.Errorf("closing the root of the znodes to others: %w", err)
	}
	return nil
}

// ask sends a request when no other is under way.
func ask(conn net.Conn, r record) error {
	if _, err := conn.Write(r.framed()); err != nil {
		return err
	}
	f, err := readFrame(conn)
	if err != nil {
		return err
	}
	f.int() // the number of the request
	f.long()
	if code := f.int(); code != 0 {
		return fmt.Errorf("ZooKeeper says error %d", code)
	}
	return nil
}
