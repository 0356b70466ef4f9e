package architecture_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"engang/infra/local/cloudformation"
)

// inLine is a value as YAML has it in one line, with the keys of mappings in their order.
func inLine(v any) string {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+": "+inLine(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, x := range v {
			parts = append(parts, inLine(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// section is a part of a template as it is written.
func section(tpl *cloudformation.Template, name string) map[string]any {
	m, _ := tpl.Written()[name].(map[string]any)
	return m
}

// part is a part of a resource as it is written: its "Properties", or what stands beside them.
func part(tpl *cloudformation.Template, id string, path ...string) any {
	var v any = section(tpl, "Resources")[id]
	for _, step := range path {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	return v
}

// keys lists the names in a mapping, in their order.
func keys(v any) []string {
	m, _ := v.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// ways are the ways to deploy a template that make a difference to what it holds: in each the parameters stand as their
// names, <LogDays>, and in some those are left out that a condition asks for. In some way each condition holds, and in
// some it does not.
func ways(tpl *cloudformation.Template) []*cloudformation.Template {
	all := map[string]string{}
	for name := range section(tpl, "Parameters") {
		all[name] = "<" + name + ">"
	}
	given := func(other map[string]string) *cloudformation.Template {
		values := maps.Clone(all)
		maps.Copy(values, other)
		return tpl.With(values)
	}
	return []*cloudformation.Template{
		given(nil),
		given(map[string]string{"ReceiverReserved": "0", "KmsKeyArn": "", "DomainName": "", "CertificateArn": "", "Alarms": "basic", "AlarmTopicArn": "", "AlarmEmail": ""}),
		given(map[string]string{"Alarms": "all", "AlarmTopicArn": ""}),
		given(map[string]string{"Alarms": "none"}),
	}
}

// inWays lists what is there in each way to deploy a template. What is there in some only is marked.
func inWays(tpl *cloudformation.Template, list func(reader) []string) []string {
	times, all := map[string]int{}, ways(tpl)
	for _, way := range all {
		there := list(reader{way})
		slices.Sort(there)
		for _, l := range slices.Compact(there) {
			times[l]++
		}
	}
	var found []string
	for _, l := range slices.Sorted(maps.Keys(times)) {
		if times[l] < len(all) {
			l += " (at times)"
		}
		found = append(found, l)
	}
	return found
}

// apart compares what there is with a closed list of what there should be, both without an order.
func apart(what string, got, want []string) []string {
	var faults []string
	for _, g := range got {
		if !slices.Contains(want, g) {
			faults = append(faults, what+" has and should not: "+g)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			faults = append(faults, what+" lacks: "+w)
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}
