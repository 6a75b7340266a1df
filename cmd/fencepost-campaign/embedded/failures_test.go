package embedded

import "testing"

// Only an error from NATS's own store counts as a failure to store. The same words from a client have no effect.
func TestOnlyTheStoreSaysThatNothingIsStored(t *testing.T) {
	for text, want := range map[string]bool{
		"Filestore [fencepost_x_parts] Critical write error: write 1.blk: no space left on device":           true,
		"JetStream stream '$G > KV_fencepost_x' critical write error: write 1.blk: no space left on device":  true,
		"127.0.0.1:5 - cid:9 - Client parser ERROR, proto='Filestore [x] Critical write error: write 1.blk'": false,
		"Filestore [fencepost_x_parts] loadBlock error: no such file":                                        false,
	} {
		f := &failures{}
		f.Errorf("%s", text)
		if got := f.stuck() != nil; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
