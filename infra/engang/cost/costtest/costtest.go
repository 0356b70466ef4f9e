// Package costtest counts for tests what the cost sheet states.
package costtest

import (
	"fmt"
	"strings"

	"engang/infra/engang/cost"
	"engang/infra/local/cloudformation"
)

// Deployed reads from a template what costs something: memory of the functions, alarms at each level, dashboard.
func Deployed(t *cloudformation.Template) (cost.Deployment, error) {
	d := cost.Deployment{Memory: map[string]int{}, Alarms: map[string]int{}, Dashboard: len(t.OfType("AWS::CloudWatch::Dashboard"))}
	for _, id := range t.OfType("AWS::Serverless::Function") {
		n, err := t.Number(names{}, id, "MemorySize")
		if err != nil {
			return d, fmt.Errorf("read memory of %s: %w", id, err)
		}
		d.Memory[strings.ToLower(strings.TrimSuffix(id, "Function"))] = n
	}
	for _, id := range t.OfType("AWS::CloudWatch::Alarm") {
		d.Alarms["all"]++
		if t.Condition(id) != "AllAlarms" {
			d.Alarms[cost.Basic]++
		}
	}
	d.Alarms["none"] = 0
	return d, nil
}

// names gives what a template refers to as it is called there: no amount depends on it.
type names struct{}

func (names) Ref(id string) (string, error)             { return id, nil }
func (names) Attribute(id, name string) (string, error) { return id + "." + name, nil }
