package play

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios"
)

func BenchmarkShow(b *testing.B) {
	s, err := scenarios.Named("kleppmann-gc-pause")
	if err != nil {
		b.Fatal(err)
	}
	state, err := Of(s)
	if err != nil {
		b.Fatal(err)
	}
	request, _ := json.Marshal(Request{Do: "show", State: state})
	for b.Loop() {
		Ask(context.Background(), request, nil)
	}
}
