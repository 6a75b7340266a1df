package task

// Seeds contains the default number of seeds for each command that makes many runs, with or without a campaign. A sweep
// makes that many runs at each point, a comparison in each cell, and the corpus for each mutant.
var Seeds = map[string]int{"explore": 1000, "sweep": 20, "advise": 100, "compare": 100, "corpus": 20_000}
