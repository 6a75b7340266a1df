package reporttest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// These are the parts of a line, according to the grammar of OpenMetrics 1.0.0.
const (
	metricName = `[a-zA-Z_:][a-zA-Z0-9_:]*`
	escaped    = `(?:[^"\\\n]|\\["n\\])*`
	oneLabel   = `([a-zA-Z_][a-zA-Z0-9_]*)="(` + escaped + `)"`
	realNumber = `[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:inf(?:inity)?)|(?i:nan)`
)

var (
	metadataLine = regexp.MustCompile(`^# (TYPE|HELP|UNIT) (` + metricName + `) (` + escaped + `)$`)
	sampleLine   = regexp.MustCompile(`^(` + metricName + `)(?:\{((?:` + oneLabel + `(?:,` + oneLabel + `)*)?)\})? (` +
		realNumber + `)$`)
	label = regexp.MustCompile(oneLabel)
)

// suffixes lists the endings of names that OpenMetrics reserves for types other than gauges.
var suffixes = []string{"_total", "_created", "_count", "_sum", "_bucket", "_gcount", "_gsum", "_info"}

// exposition is the part of an OpenMetrics text that has been read so far.
type exposition struct {
	families  []string        // the families that have begun, in order
	described map[string]bool // the metadata that a family has, or can no longer have: a kind followed by a name
	samples   map[string]bool
}

// CheckOpenMetrics returns an error if the text is not an exposition of gauges in the OpenMetrics text format, version
// 1.0.0. Gauges need no other part of the format.
func CheckOpenMetrics(text string) (err error) {
	body, ends := strings.CutSuffix(text, "# EOF\n")
	if !ends {
		err = errors.New(`the last line is not "# EOF"`)
	}
	x := exposition{described: map[string]bool{}, samples: map[string]bool{}}
	for line := range strings.Lines(body) {
		line, whole := strings.CutSuffix(line, "\n")
		metadata, sample := metadataLine.FindStringSubmatch(line), sampleLine.FindStringSubmatch(line)
		problem := "the line is neither metadata nor a sample"
		switch {
		case !whole:
			problem = "the line does not end with a line break"
		case metadata != nil:
			problem = x.metadata(metadata[1], metadata[2], metadata[3])
		case sample != nil:
			problem = x.sample(sample[1], label.FindAllStringSubmatch(sample[2], -1))
		}
		if problem != "" {
			err = errors.Join(err, fmt.Errorf("%s: %q", problem, line))
		}
	}
	return err
}

// current returns the family that began last, or "".
func (x *exposition) current() string {
	if len(x.families) == 0 {
		return ""
	}
	return x.families[len(x.families)-1]
}

// metadata adds a line of metadata. It returns what is wrong with the line, or "".
func (x *exposition) metadata(kind, family, said string) (problem string) {
	switch {
	case x.current() != family && slices.Contains(x.families, family):
		problem = "the lines of the family are not together"
	case kind == "TYPE" && said != "gauge":
		problem = "the type is not gauge"
	case kind == "UNIT" && !strings.HasSuffix(family, "_"+said):
		problem = "the name does not end with the unit"
	case x.described[kind+family]:
		problem = "the metadata is repeated, or follows a sample"
	case slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(family, s) }):
		problem = "the name ends with a reserved suffix"
	}
	if x.current() != family {
		x.families = append(x.families, family)
	}
	x.described[kind+family] = true
	return problem
}

// sample adds a sample. It returns what is wrong with the sample, or "".
func (x *exposition) sample(family string, labels [][]string) (problem string) {
	slices.SortFunc(labels, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	series := fmt.Sprint(family, labels)
	names := slices.CompactFunc(slices.Clone(labels), func(a, b []string) bool { return a[1] == b[1] })
	switch {
	case x.current() != family || !x.described["TYPE"+family]:
		problem = "the sample does not follow its family's metadata"
	case x.samples[series]:
		problem = "the metric is repeated"
	case len(names) < len(labels):
		problem = "two labels have the same name"
	}
	x.samples[series] = true
	for kind := range strings.SplitSeq("TYPE HELP UNIT", " ") {
		x.described[kind+family] = true
	}
	return problem
}
