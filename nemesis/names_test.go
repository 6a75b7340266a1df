package nemesis

import "github.com/fencepost-sim/fencepost/nemesis/cast"

var testNames = Names(cast.All)
