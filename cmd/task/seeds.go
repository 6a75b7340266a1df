package task

// Seeds contains the default number of seeds of each command that makes many runs, here and in a campaign. For a sweep
// it is the number at each point, for a comparison at each cell, and for the corpus at each mutant.
var Seeds = map[string]int{"explore": 1000, "sweep": 20, "advise": 100, "compare": 100, "corpus": 20_000}
