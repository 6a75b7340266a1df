package store

import "strings"

// Events is a set of classes of keyspace notifications, and of the kinds of channels they are sent to (Redis's
// notify.c). The comment on each constant gives its letter in notify-keyspace-events.
type Events uint16

const (
	ToKeyspace Events = 1 << iota // K: send the event's name to the channel of its key
	ToKeyevent                    // E: send the key to the channel of its event
	Generic                       // g
	String                        // $
	List                          // l
	Set                           // s
	Hash                          // h
	ZSet                          // z
	Expired                       // x
	evicted                       // e
	Stream                        // t
	module                        // d: never sent
	Made                          // n
)

// letters lists the letters for the classes, in the order in which Redis prints them.
var letters = []struct {
	letter byte
	class  Events
}{{'g', Generic}, {'$', String}, {'l', List}, {'s', Set}, {'h', Hash}, {'z', ZSet}, {'x', Expired}, {'e', evicted},
	{'t', Stream}, {'d', module}, {'n', Made}, {'K', ToKeyspace}, {'E', ToKeyevent}}

// allClasses contains the classes that the letter A stands for.
const allClasses = Generic | String | List | Set | Hash | ZSet | Expired | evicted | Stream | module

// ParseEvents parses the value of notify-keyspace-events. trouble is the error message without a code, or "".
func ParseEvents(text string) (e Events, trouble string) {
next:
	for _, c := range []byte(text) {
		switch c {
		case 'A':
			e |= allClasses
			continue
		case 'm':
			return 0, "fencepost: the class m is not simulated, so missing keys cause no notifications"
		}
		for _, l := range letters {
			if l.letter == c {
				e |= l.class
				continue next
			}
		}
		return 0, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
	}
	return e, ""
}

// String formats the classes as Redis does. If all classes that A stands for are enabled, it writes A instead of their
// letters, and omits the letter n even if Made is enabled.
func (e Events) String() string {
	var b strings.Builder
	all := e&allClasses == allClasses
	if all {
		b.WriteByte('A')
	}
	for _, l := range letters {
		if e&l.class != 0 && (!all || l.class == ToKeyspace || l.class == ToKeyevent) {
			b.WriteByte(l.letter)
		}
	}
	return b.String()
}

// Notify publishes an event for a key if the event's class is enabled.
func (d *Data) Notify(class Events, event, name string) {
	if d.Notifies&class == 0 || d.Loading {
		return
	}
	if d.Notifies&ToKeyspace != 0 {
		d.node.Publish("__keyspace@0__:"+name, event)
	}
	if d.Notifies&ToKeyevent != 0 {
		d.node.Publish("__keyevent@0__:"+event, name)
	}
}
