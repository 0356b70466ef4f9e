package rights

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"engang/infra/local/cloudformation"
)

// A Use is one thing that a request asks to be allowed: an action on a resource, and what conditions may look at.
type Use struct {
	Action   string // "dynamodb:PutItem"
	Resource string // its ARN
	Carried  map[string][]string
}

// String is the use as a person reads it: the action, the resource, and what kind of items.
func (u Use) String() string {
	s := u.Action + " on " + u.Resource
	for _, key := range u.Carried[LeadingKeys] {
		kind, _, _ := strings.Cut(key, "#") // what follows may be a name of somebody's
		s += " " + kind + "#"
	}
	return s
}

// A Right is the least part of a statement that can be taken away: one action on one resource, for one kind of items.
type Right struct {
	Where    string // "ReceiverRole KeepEvents"
	Action   string
	Resource string // by its name in the template: "<Table.Arn>"
	Kind     string // of leading keys: "E#*"; "" where none is named
}

// String is the right in one line.
func (r Right) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", r.Where, r.Action, r.Resource, r.Kind))
}

// A Role is what a function may do. It does not change, and is safe for concurrent use.
type Role struct {
	id         string
	statements []Statement
	named      []Statement // the same, with names of the template for what a deploy creates
	without    []lesser
}

// A lesser is a role that lacks one right.
type lesser struct {
	right Right
	rest  Role
}

// Read reads what each function of a template may do, by the function's logical id. It returns an error for a function
// without a role in the template, and for a statement that is not understood here.
func Read(t *cloudformation.Template, env cloudformation.Environment) (map[string]Role, error) {
	roles := map[string]Role{}
	for _, function := range slices.Concat(t.OfType("AWS::Serverless::Function"), t.OfType("AWS::Lambda::Function")) {
		of, err := t.Text(cloudformation.Symbols{}, function, "Role")
		if err != nil {
			return nil, fmt.Errorf("read role of %s: %w", function, err)
		}
		id := strings.TrimSuffix(strings.Trim(of, "<>"), ".Arn")
		if t.Type(id) != "AWS::IAM::Role" {
			return nil, fmt.Errorf("read role of %s: %s is not declared in the template", function, of)
		}
		if roles[function], err = readRole(t, env, id); err != nil {
			return nil, err
		}
	}
	return roles, nil
}

func readRole(t *cloudformation.Template, env cloudformation.Environment, id string) (Role, error) {
	r := Role{id: id}
	var err error
	if r.statements, err = Of(t, env, id); err != nil {
		return r, err
	}
	if r.named, err = Of(t, cloudformation.Symbols{}, id); err != nil {
		return r, err
	}
	for i, s := range r.statements {
		if s.Effect != "Allow" && s.Effect != "Deny" || len(s.Actions) == 0 || len(s.Resources) != len(r.named[i].Resources) || len(s.Resources) == 0 {
			return r, fmt.Errorf("%s is not understood here: it needs an effect, actions and resources", s.Where)
		}
		for _, c := range s.Conditions {
			if err := c.understood(); err != nil {
				return r, fmt.Errorf("condition of %s: %w", s.Where, err)
			}
		}
	}
	for i := range r.statements {
		r.without = append(r.without, r.lessers(i)...)
	}
	return r, nil
}

// ID is the logical id of the role.
func (r Role) ID() string { return r.id }

// Allows tells whether a use is allowed: by a statement, and refused by none.
func (r Role) Allows(u Use) bool {
	allowed := false
	for _, s := range r.statements {
		if !s.fits(u) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = true
	}
	return allowed
}

// Needs lists the rights without any of which a use would be refused. There is none for a use that is refused anyhow,
// or that two statements allow.
func (r Role) Needs(u Use) (all []Right) {
	if !r.Allows(u) {
		return nil
	}
	for _, l := range r.without {
		if strings.EqualFold(l.right.Action, u.Action) && !l.rest.Allows(u) {
			all = append(all, l.right)
		}
	}
	return all
}

// Rights lists every right of the role, in the order of its statements.
func (r Role) Rights() (all []Right) {
	for _, l := range r.without {
		all = append(all, l.right)
	}
	return all
}

// Statements lists the names of the statements that allow something: "ReceiverRole KeepEvents".
func (r Role) Statements() (all []string) {
	for _, s := range r.statements {
		if s.Effect == "Allow" {
			all = append(all, s.Where)
		}
	}
	return all
}

// lessers are the roles that lack one right of a statement each.
func (r Role) lessers(i int) (all []lesser) {
	s, named := r.statements[i], r.named[i]
	if s.Effect == "Deny" {
		return nil
	}
	for _, action := range s.Actions {
		for j := range s.Resources {
			for _, kind := range s.kinds() {
				right := Right{s.Where, action, named.Resources[j], kind}
				all = append(all, lesser{right, r.lack(i, s.lack(action, j, kind))})
			}
		}
	}
	return all
}

// lack is the role with other statements in the place of one.
func (r Role) lack(i int, with []Statement) Role {
	return Role{id: r.id, statements: slices.Concat(r.statements[:i], with, r.statements[i+1:])}
}

// lack is what is left of a statement without one right.
func (s Statement) lack(action string, resource int, kind string) []Statement {
	others, only, elsewhere, narrower := s, s, s, s
	others.Actions = slices.DeleteFunc(slices.Clone(s.Actions), func(a string) bool { return a == action })
	only.Actions = []string{action}
	elsewhere.Actions, elsewhere.Resources = only.Actions, slices.Delete(slices.Clone(s.Resources), resource, resource+1)
	narrower.Actions, narrower.Resources = only.Actions, s.Resources[resource:resource+1]
	rest := []Statement{others, elsewhere}
	if len(s.kinds()) == 1 { // without it no kind is left, and not every one
		return rest
	}
	narrower.Conditions = slices.Clone(s.Conditions)
	for i, c := range narrower.Conditions {
		if c.Key == LeadingKeys && !strings.HasSuffix(c.Operator, "Null") {
			narrower.Conditions[i].Values = slices.DeleteFunc(slices.Clone(c.Values), func(v string) bool { return v == kind })
		}
	}
	return append(rest, narrower)
}

// kinds are the leading keys that a statement names, or one that is empty.
func (s Statement) kinds() []string {
	for _, c := range s.Conditions {
		if _, base := c.split(); c.Key == LeadingKeys && base != "Null" {
			return c.Values
		}
	}
	return []string{""}
}

// fits tells whether a statement speaks of a use.
func (s Statement) fits(u Use) bool {
	return slices.ContainsFunc(s.Actions, func(a string) bool { return like(strings.ToLower(a), strings.ToLower(u.Action)) }) &&
		slices.ContainsFunc(s.Resources, func(r string) bool { return like(r, u.Resource) }) &&
		!slices.ContainsFunc(s.Conditions, func(c Condition) bool { return !c.holds(u.Carried) })
}

func isMissing(err error) bool { return errors.Is(err, cloudformation.ErrMissing) }
