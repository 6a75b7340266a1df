package ensembles
import ("testing";"github.com/fencepost-sim/fencepost/scenarios/locktest")
func TestDbg(t *testing.T) {
	c := clients["etcd-mutex"]; c.Seeds = 1; c.Untried = true
	for range 2 { r, ok := locktest.Explore(t, c); if ok { t.Log(r.Digests()) } }
}
