package etcd

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MicroTime is the time format in a Lease object, with microseconds (metav1.RFC3339Micro).
const MicroTime = "2006-01-02T15:04:05.000000Z07:00"

// fieldKind is the type of an object's field.
type fieldKind uint8

const (
	anyField fieldKind = iota
	textField
	countField // an int32
	timeField
	textsField // a map from strings to strings
)

// A Lease object's known fields. Other fields are dropped or, with fieldValidation=Strict, refused.
var (
	metadataFields = map[string]fieldKind{"name": textField, "generateName": textField, "namespace": textField,
		"selfLink": textField, "uid": textField, "resourceVersion": textField, "generation": anyField,
		"creationTimestamp": anyField, "deletionTimestamp": anyField, "deletionGracePeriodSeconds": anyField,
		"labels": textsField, "annotations": textsField, "ownerReferences": anyField, "finalizers": anyField,
		"managedFields": anyField}
	specFields = map[string]fieldKind{"holderIdentity": textField, "leaseDurationSeconds": countField,
		"acquireTime": timeField, "renewTime": timeField, "leaseTransitions": countField, "strategy": textField,
		"preferredHolder": textField}
)

// readObject decodes an object from JSON field by field. Like the API server, it treats field names as case-sensitive.
func readObject(body string, strict bool) (*object, *Status) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		return nil, badRequest("unable to decode request body: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, badRequest("unable to decode request body: there is more than one value")
	}
	l := &object{}
	l.Kind, _ = all["kind"].(string)
	l.APIVersion, _ = all["apiVersion"].(string)
	for _, part := range []struct {
		name   string
		typed  string
		fields map[string]fieldKind
		to     *map[string]any
	}{{"metadata", "ObjectMeta", metadataFields, &l.Metadata}, {"spec", "LeaseSpec", specFields, &l.Spec}} {
		problem := ""
		switch v := all[part.name].(type) {
		case nil:
			*part.to = map[string]any{}
		case map[string]any:
			*part.to = v
			problem = checkFields(v, part.name, part.typed, part.fields, strict)
		default:
			problem = mistyped(v, "Lease."+part.name, "v1."+part.typed)
		}
		if problem != "" {
			return nil, badRequest("Lease in version \"v1\" cannot be handled as a Lease: %s", problem)
		}
	}
	return l, nil
}

// checkFields drops unknown fields and checks the known ones. It returns the first problem, or "" if there is none.
func checkFields(of map[string]any, in, typed string, fields map[string]fieldKind, strict bool) (problem string) {
	for _, name := range sortedNames(of) {
		kind, known := fields[name]
		switch v := of[name]; {
		case !known && strict:
			return fmt.Sprintf("strict decoding error: unknown field %q", in+"."+name)
		case !known, v == nil && kind != anyField:
			delete(of, name)
		default:
			if of[name], problem = checkField(v, kind, typed+"."+in+"."+name); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func sortedNames(of map[string]any) (names []string) {
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checkField checks and converts a single value. If the value is invalid, it describes the problem in the words of
// encoding/json or metav1.MicroTime.
func checkField(v any, kind fieldKind, at string) (read any, problem string) {
	text, isText := v.(string)
	switch kind {
	case textField:
		if !isText {
			return nil, mistyped(v, at, "string")
		}
	case countField:
		number, isNumber := v.(json.Number)
		if _, err := strconv.ParseInt(number.String(), 10, 32); !isNumber || err != nil {
			return nil, mistyped(v, at, "int32")
		}
	case timeField:
		if !isText {
			return nil, "json: cannot unmarshal " + kindOf(v) + " into Go value of type string"
		}
		t, err := time.Parse(MicroTime, text)
		if err != nil {
			return nil, err.Error()
		}
		return t.UTC().Format(MicroTime), ""
	case textsField:
		texts, isMap := v.(map[string]any)
		if !isMap {
			return nil, mistyped(v, at, "map[string]string")
		}
		for _, name := range sortedNames(texts) {
			if _, isText := texts[name].(string); !isText {
				return nil, mistyped(texts[name], at, "string")
			}
		}
	}
	return v, ""
}

func mistyped(v any, at, wanted string) string {
	what := kindOf(v)
	if number, is := v.(json.Number); is && wanted == "int32" {
		what += " " + number.String()
	}
	return fmt.Sprintf("json: cannot unmarshal %s into Go struct field %s of type %s", what, at, wanted)
}

// kindOf returns encoding/json's name for a value's type.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "array"
	}
	return "object"
}

// The syntax of names and labels (k8s.io/apimachinery, pkg/util/validation).
const (
	labelForm     = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
	subdomainForm = labelForm + `(\.` + labelForm + ")*"
	partForm      = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
)

var (
	subdomain  = regexp.MustCompile("^" + subdomainForm + "$")
	dnsLabel   = regexp.MustCompile("^" + labelForm + "$")
	namePart   = regexp.MustCompile("^" + partForm + "$")
	labelValue = regexp.MustCompile("^(" + partForm + ")?$")
)

const (
	notSubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '" +
		subdomainForm + "')"
	notLabel = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
		"and must start and end with an alphanumeric character (e.g. " +
		"'my-name',  or '123-abc', regex used for validation is '" +
		labelForm + "')"
	notPart = "name part must consist of alphanumeric characters, " +
		"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
		"'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" +
		partForm + "')"
	notValue = "a valid label must be an empty string or consist of alphanumeric characters, " +
		"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
		"'MyValue',  or 'my_value',  or '12345', regex used for validation is '(" + partForm + ")?')"
)

// misnamed says why a Lease object cannot have the given name. It returns "" if it can.
func misnamed(name string) string {
	switch {
	case len(name) > 253:
		return "must be no more than 253 characters"
	case !subdomain.MatchString(name):
		return notSubdomain
	}
	return ""
}

// mislabeled says why an object's labels are invalid. It returns "" if they are valid.
func mislabeled(labels map[string]any) string {
	for _, key := range sortedNames(labels) {
		prefix, name, prefixed := strings.Cut(key, "/")
		if !prefixed {
			prefix, name = "", key
		}
		value, _ := labels[key].(string)
		switch {
		case prefixed && !subdomain.MatchString(prefix):
			return fmt.Sprintf("metadata.labels: Invalid value: %q: prefix part %s", key, notSubdomain)
		case !namePart.MatchString(name):
			return fmt.Sprintf("metadata.labels: Invalid value: %q: %s", key, notPart)
		case len(name) > 63:
			return fmt.Sprintf("metadata.labels: Invalid value: %q: name part must be no more than 63 characters", key)
		case len(value) > 63:
			return fmt.Sprintf("metadata.labels: Invalid value: %q: must be no more than 63 characters", value)
		case !labelValue.MatchString(value):
			return fmt.Sprintf("metadata.labels: Invalid value: %q: %s", value, notValue)
		}
	}
	return ""
}

// check returns a failure if the Lease object is invalid, by the rules in pkg/apis/coordination/validation.
func (q *apiCall) check(l *object) *Status {
	if why := misnamed(q.name); why != "" {
		return invalid(q.name, "metadata.name: Invalid value: %q: %s", q.name, why)
	}
	labels, _ := l.Metadata["labels"].(map[string]any)
	if why := mislabeled(labels); why != "" {
		return invalid(q.name, "%s", why)
	}
	count := func(field string) (n int64, given bool) {
		number, given := l.Spec[field].(json.Number)
		n, _ = number.Int64()
		return n, given
	}
	if n, given := count("leaseDurationSeconds"); given && n <= 0 {
		return invalid(q.name, "spec.leaseDurationSeconds: Invalid value: %d: must be greater than 0", n)
	}
	if n, given := count("leaseTransitions"); given && n < 0 {
		return invalid(q.name, "spec.leaseTransitions: Invalid value: %d: must be greater than or equal to 0", n)
	}
	return nil
}
