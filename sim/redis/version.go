package redis

// Version is a Redis that a node behaves as: it decides which commands and options there are, and some of their texts.
// The zero Version is Redis 7.0.
type Version uint8

const (
	Redis7 Version = iota // 7.0.15, with which tests compare the node
	Redis8                // 8.4.0, from its documentation and its source
	Tair                  // Redis 7.0 with Tair's CAD and CAS, from their documentation
	versions
)

// String is the number by which the server gives its version to clients.
func (v Version) String() string {
	if v == Redis8 {
		return "8.4.0"
	}
	return "7.0.15"
}

// versionRange are some of them: bit v is set if Version v is one. The zero versionRange are all.
type versionRange uint8

const (
	only8    versionRange = 1 << Redis8
	before8  versionRange = 1<<Redis7 | 1<<Tair
	onlyTair versionRange = 1 << Tair
)

// has reports whether v is one of them.
func (s versionRange) has(v Version) bool { return s == 0 || s>>v&1 != 0 }
