package timeline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// processes formats a list of process names, abbreviating consecutive numbers: "redis-1…3, redis-5".
func processes(ps []history.Process) string {
	sorted := slices.Clone(ps)
	slices.SortFunc(sorted, compareNames)
	var out []string
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && follows(sorted[j-1], sorted[j]) {
			j++
		}
		name := string(sorted[i])
		switch {
		case j-i == 2:
			name += ", " + string(sorted[i+1])
		case j-i > 2:
			_, n, _ := numbered(sorted[j-1])
			name += "…" + strconv.Itoa(n)
		}
		out = append(out, name)
		i = j
	}
	return strings.Join(out, ", ")
}

// numbered splits "redis-3" into "redis-" and 3. ok is false if the name does not end in a number.
func numbered(p history.Process) (base string, n int, ok bool) {
	s := string(p)
	i := strings.LastIndexByte(s, '-')
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return s, 0, false
	}
	return s[:i+1], n, true
}

func compareNames(a, b history.Process) int {
	ab, an, aok := numbered(a)
	bb, bn, bok := numbered(b)
	if aok && bok && ab == bb {
		return an - bn
	}
	return strings.Compare(string(a), string(b))
}

func follows(a, b history.Process) bool {
	ab, an, aok := numbered(a)
	bb, bn, bok := numbered(b)
	return aok && bok && ab == bb && bn == an+1
}
