// Package rights tells what the functions of a template may do in AWS, as IAM would decide it: which statements their
// roles have, what a request asks for, and whether it is allowed. The local system refuses by it what a deployed one would
// refuse, and tests take rights away by it, one after the other, to see who needs them.
//
// It knows what this system calls and what its template says. Anything else is refused with the place where it stands,
// and never held for allowed.
package rights

import (
	"fmt"
	"maps"
	"slices"

	"engang/infra/local/cloudformation"
)

// A Statement is one statement of a policy, with single values as lists.
type Statement struct {
	Where      string // "ReceiverRole KeepEvents": whose policy it is in, and its Sid
	Effect     string
	Actions    []string
	Resources  []string
	Conditions []Condition // in the order of their operators and keys
}

// A Condition compares what a request carries under a key with values: it is one line of a statement's Condition.
type Condition struct {
	Operator string // "ForAllValues:StringLike"
	Key      string // "dynamodb:LeadingKeys"
	Values   []string
}

// Statements reads a policy document, as [cloudformation.Template.Property] gives it.
func Statements(where string, document any) []Statement {
	doc, _ := document.(map[string]any)
	list, _ := doc["Statement"].([]any)
	var all []Statement
	for _, raw := range list {
		m, _ := raw.(map[string]any)
		all = append(all, Statement{
			Where: fmt.Sprintf("%s %v", where, m["Sid"]), Effect: fmt.Sprint(m["Effect"]), Actions: cloudformation.Texts(m["Action"]), Resources: cloudformation.Texts(m["Resource"]),
			Conditions: conditions(m["Condition"]),
		})
	}
	return all
}

// Of reads the inline policies of a role. A role without any has none.
func Of(t *cloudformation.Template, env cloudformation.Environment, role string) ([]Statement, error) {
	if _, err := t.Property(env, role, "Policies"); isMissing(err) {
		return nil, nil
	}
	v, err := t.Property(env, role, "Policies")
	if err != nil {
		return nil, fmt.Errorf("read rights: %w", err)
	}
	policies, _ := v.([]any)
	var all []Statement
	for _, p := range policies {
		m, _ := p.(map[string]any)
		all = append(all, Statements(role, m["PolicyDocument"])...)
	}
	return all, nil
}

// Values are what a statement compares a key with by an operator, or nothing where it does not.
func (s Statement) Values(operator, key string) []string {
	for _, c := range s.Conditions {
		if c.Operator == operator && c.Key == key {
			return c.Values
		}
	}
	return nil
}

func conditions(v any) []Condition {
	operators, _ := v.(map[string]any)
	var all []Condition
	for _, operator := range slices.Sorted(maps.Keys(operators)) {
		keys, _ := operators[operator].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			all = append(all, Condition{operator, key, cloudformation.Texts(keys[key])})
		}
	}
	return all
}

// like matches a text with a pattern as IAM does: * is any text, ? any one character.
func like(pattern, text string) bool {
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '*':
			for end := range len(text) - i + 1 {
				if like(pattern[i+1:], text[i+end:]) {
					return true
				}
			}
			return false
		case i >= len(text) || pattern[i] != '?' && pattern[i] != text[i]:
			return false
		}
	}
	return len(pattern) == len(text)
}
