package margin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Telling reports whether a close call is worth reporting. The law must not have been violated, and another client must
// have requested the lock during the close call. What else must have happened depends on the Way:
//
// For Overstated, Outlives and Writes, the holder released the lock, left its critical section or wrote late: in the
// last tenth of its lease (or of its keys' lifetime), or after that. For Deposed, a server granted or extended the lock
// after it had been replaced or cut off. For Requests, a request arrived after its own attempt's key had disappeared,
// and another attempt set the key. For the other ways, the holder lost a key.
func (c *Call) Telling() bool {
	if c.Value == 0 || !c.Contended {
		return false
	}
	switch c.Way {
	case Overstated:
		return c.After > 0 && c.At > c.To-c.After-(c.To-c.From)/10
	case Deposed:
		return c.Value < 1
	case Outlives, Writes:
		return c.Value < 1.1
	case Requests:
		return c.At > c.To && c.After != history.Never
	}
	return len(c.Gone) > 0
}

// String describes a close call that is worth reporting (see Telling), in one or two sentences.
func (c *Call) String() string {
	switch c.Way {
	case Overstated:
		return fmt.Sprintf("%s relied on its lease for %s longer than its keys existed, until %s. "+
			"The lease was released at %[4]s, or ended then for another reason.", c.Holder, text.Lasting(c.After),
			text.Instant(c.To), text.Instant(c.At))
	case Deposed:
		return fmt.Sprintf("%s served %s at %s, %s after it had been replaced or cut off from the others.",
			c.Standing[0], c.Holder, text.Instant(c.At), text.Lasting(max(c.At-c.From, 0)))
	case Outlives:
		if c.overtaken() { // if a holder crashed, it did not leave its section
			return c.past("had left its critical section", "came in")
		}
		return c.past("left its section", "came in")
	case Writes:
		return c.past("wrote", "used the resource")
	case Requests:
		return c.late()
	}
	return c.lost()
}

// overtaken reports whether another client entered its critical section, or used the resource, before the holder's
// lease had ended.
func (c *Call) overtaken() bool { return c.At <= c.To && c.Value < 1 && c.After != history.Never }

// past says when a holder acted, compared with the end of its lease and with the next client's act. holderAct and
// nextAct name the two acts.
func (c *Call) past(holderAct, nextAct string) string {
	if c.overtaken() {
		return fmt.Sprintf("%s %s %s before %s %s, although the lease of %s was still valid.", c.Holder, holderAct,
			text.Lasting(max(c.After, 0)), c.Next, nextAct, c.Holder)
	}
	if c.At <= c.To {
		return fmt.Sprintf("%s %s %s before its lease ended.", c.Holder, holderAct, text.Lasting(c.To-c.At))
	}
	said := fmt.Sprintf("%s %s %s after its lease had ended", c.Holder, holderAct, text.Lasting(c.At-c.To))
	if c.After == history.Never || c.After < 0 {
		return fmt.Sprintf("%s; nobody else had acquired the lock by then.", said)
	}
	return fmt.Sprintf("%s; %s %s %s later.", said, c.Next, nextAct, text.Lasting(c.After))
}

// late says how close the last request of an attempt came to changing another attempt's key. The request either reached
// the server shortly before that key was set, or arrived later but did not change the key.
func (c *Call) late() string {
	next := c.Next
	if next == c.Holder {
		next = "the next attempt of " + c.Holder
	}
	if c.After <= 0 {
		return fmt.Sprintf("a request from %s reached %s %s after %s had set its key there, "+
			"but did not change the key.",
			c.Holder, c.Standing[0], text.Lasting(-c.After), next)
	}
	return fmt.Sprintf("the last request from %s reached %s %s before %s set its key there.", c.Holder, c.Standing[0],
		text.Lasting(c.After), next)
}

// lost says which keys a holder had lost, and how many more would have had to be lost for another client to acquire the
// lock.
func (c *Call) lost() string {
	var gone []string
	for _, l := range c.Gone {
		gone = append(gone, l.String())
	}
	said := fmt.Sprintf("the lease of %s ran until %s; %s", c.Holder, text.Instant(c.To),
		strings.Join(slices.Compact(gone), ", "))
	who := c.Next
	if who == "" {
		who = "another client"
	}
	if c.Missing == 0 {
		return fmt.Sprintf("%s. From %s on, nothing prevented %s from acquiring the lock, "+
			"but the lease ended before it did.", said,
			text.Instant(c.From), who)
	}
	return fmt.Sprintf("%s, while %s was asking for the lock. "+
		"The loss of %s (of %d) would have let it acquire the lock.", said, who,
		text.Count(c.Missing, "more key"), c.Units)
}

// String says how and when a server lost the key.
func (l Loss) String() string {
	how := map[Way]string{Crashes: "lost its key in a crash", Failover: "lost its key in a failover",
		Removed: "had its key removed", Expires: "let its key expire early", Overstated: "let its key expire"}[l.Way]
	return fmt.Sprintf("%s %s at %s", l.Server, how, text.Instant(l.At))
}
