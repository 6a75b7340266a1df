package main

import (
	"slices"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/live/agree"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// described lists the JSON objects that the commands print with --json.
var described = slices.Concat(single.Described, search.Described, verify.Described, sweep.Described, compare.Described,
	corpus.Described, advise.Described, agree.Described, []document.Described{
		{Commands: []string{"list"}, Object: listingJSON{}, Is: "the catalog"},
		{Commands: []string{"version"}, Object: builtFrom{}, Is: "what the program was built from"},
	})
