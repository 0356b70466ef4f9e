package dynamo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"engang/shared/lifecycle"
)

// errPlaceholders says that a statement and the values given for it do not fit: a bug. Some engines
// would answer 200 and store nonsense.
var errPlaceholders = errors.New("values do not fit the expression")

// A statement is one write: what changes, on what condition, and which transition of a lifecycle it is.
type statement struct {
	call   string // its name for logs, faults and counters
	update string // empty: a whole item is put
	when   string // empty: no condition

	named  map[string]string // attributes that a placeholder does not name itself, by placeholder
	states item              // values that are fixed, by placeholder
	move   move
}

// A move is a [lifecycle.Transition] of either machine, as text.
type move struct {
	name string
	from []string
	to   string
	born string // state of the item that the statement makes where there is none
}

type option func(*statement)

func write(call, update, when string, options ...option) statement {
	s := statement{call: call, update: update, when: when}
	for _, o := range options {
		o(&s)
	}
	return s
}

// moves says which transition the statement makes, and which placeholder is the state that it leads to;
// empty where the state stays as it is.
func moves[S ~string](placeholder string, t lifecycle.Transition[S]) option {
	return func(s *statement) {
		if placeholder != "" {
			says(placeholder, string(t.To))(s)
		}
		s.move.name, s.move.to = t.Name, string(t.To)
		for _, from := range t.From {
			s.move.from = append(s.move.from, string(from))
		}
	}
}

// starts says which state an item has that the statement makes.
func starts[S ~string](born S) option { return func(s *statement) { s.move.born = string(born) } }

// state fixes a state that the condition names.
func state[S ~string](placeholder string, name S) option { return says(placeholder, string(name)) }

// says fixes the text of a placeholder.
func says(placeholder, text string) option {
	return func(s *statement) {
		if s.states == nil {
			s.states = item{}
		}
		s.states[placeholder] = str(text)
	}
}

const expiry = ", #ttl = :later"

// kept is the statement without the expiry.
func (s statement) kept() statement {
	s.update = strings.Replace(s.update, expiry, "", 1)
	return s
}

// expiring gives the expiry, or takes it out of the statement where there is none.
func (s statement) expiring(given item, at time.Time) statement {
	if at.IsZero() {
		return s.kept()
	}
	given[":later"] = seconds(at)
	return s
}

// naming says which attribute a placeholder means that is not an attribute's own name.
func (s statement) naming(placeholder, attribute string) statement {
	s.named = maps.Clone(s.named)
	if s.named == nil {
		s.named = map[string]string{}
	}
	s.named[placeholder] = attribute
	return s
}

// names are the attributes that the expressions mean, by placeholder: a placeholder is the attribute's own name, but
// for the one that the table's TTL reads and those that [statement.naming] names. They are looked for when the
// statement is used: a start of a function is waited for, and uses few of all statements.
func (s statement) names() (names map[string]string) {
	for _, p := range marked(s.update+" "+s.when, '#') {
		if names == nil {
			names = map[string]string{}
		}
		switch attribute, named := s.named[p]; {
		case named:
			names[p] = attribute
		case p == "#ttl":
			names[p] = expiresAt
		default:
			names[p] = p[1:]
		}
	}
	return names
}

// needs are the placeholders of values in the expressions, sorted.
func (s statement) needs() []string {
	all := marked(s.update+" "+s.when, ':')
	slices.Sort(all)
	return slices.Compact(all)
}

// marked finds the words of small letters that stand behind a mark, with it.
func marked(expression string, mark byte) (words []string) {
	for {
		i := strings.IndexByte(expression, mark)
		if i < 0 {
			return words
		}
		end := i + 1
		for end < len(expression) && 'a' <= expression[end] && expression[end] <= 'z' {
			end++
		}
		if end > i+1 {
			words = append(words, expression[i:end])
		}
		expression = expression[end:]
	}
}

// values joins the fixed values and those of one write, and refuses what does not fit exactly.
func (s statement) values(given item) (item, error) {
	needs := s.needs()
	if len(needs) == 0 && len(given) == 0 {
		return nil, nil
	}
	all := make(item, len(needs))
	maps.Copy(all, s.states)
	maps.Copy(all, given)
	for _, p := range needs {
		if all[p] == nil {
			return nil, fmt.Errorf("%s lacks %s: %w", s.call, p, errPlaceholders)
		}
	}
	if len(all) != len(needs) {
		return nil, fmt.Errorf("%s has values that it does not name: %w", s.call, errPlaceholders)
	}
	return all, nil
}
