package diagnose

import (
	"errors"
	"slices"
	"strings"

	"engang/shared/secrets"
	"engang/shared/webhook"
)

// The bounds of a search. A delivery of some kilobytes never comes near them.
const (
	maxHashed  = 2 << 30   // bytes, over all questions
	maxPairs   = 256 << 20 // of them for two causes at once
	overhead   = 8 << 10   // of one question, in the same measure
	maxRepairs = 300       // ways to read the headers
	maxBases   = 8         // of them that are worth trying everything else with
)

// What a question is answered with.
type kind int

const (
	fits       kind = iota // it was made with one of the secrets
	mismatched             // it can be read, and fits nothing
	headless               // a header keeps it from being read
	broken                 // something else does
)

type verdict struct {
	kind   kind
	header *webhook.HeaderError // of headless
	reason string               // of broken
}

// probe asks whether the signature fits. A time outside the window or another source are no matter of the
// signature.
func (s *search) probe(a attempt) verdict {
	s.budget -= (len(a.request.Body) + overhead) * (len(a.secrets) + 1)
	err := a.scheme.Verify(a.request, append(slices.Clone(a.secrets), s.canary), webhook.Expect{Certificate: s.Certificate}, s.Now)
	if err == nil || errors.Is(err, webhook.ErrTimestamp) {
		return verdict{kind: fits}
	}
	if h, ok := errors.AsType[*webhook.HeaderError](err); ok {
		return verdict{kind: headless, header: h}
	}
	if _, ok := errors.AsType[*webhook.MismatchError](err); ok {
		return verdict{kind: mismatched}
	}
	return verdict{kind: broken, reason: reasonOf(err)}
}

// reasonOf is what an error of Verify says, without what every such error says.
func reasonOf(err error) string {
	_, text, _ := strings.Cut(err.Error(), " delivery: ")
	return strings.TrimSuffix(text, ": "+webhook.ErrSignature.Error())
}

// A part is what of a delivery is changed. Two changes of one part are not tried together.
type part int

const (
	body part = iota
	secret
	address
	clock
	sender
)

// A cause is something that is known to go wrong.
type cause struct {
	code  string
	name  string // among what it is not
	part  part
	do    string
	tries func(s *search, a attempt) []option // what would undo it; none: this provider does not know it, or there is nothing to try
}

// An option is one change that may undo a cause.
type option struct {
	what  string // "one newline is taken from the end of the body"
	apply func(a attempt) (attempt, bool)
	do    string // in place of the cause's
}

// A step is an option that was taken.
type step struct{ code, what, do string }

// A base is the delivery with headers that can be read, and what had to be done for that.
type base struct {
	attempt
	steps []step
}

// run tries what is known to go wrong, alone and by twos. It tells true with the delivery as it fits.
func (s *search) run(a attempt, v verdict) (attempt, bool) {
	bases := []base{{attempt: a}}
	if v.kind == headless {
		for _, c := range senderCauses { // what belongs to another sender needs no repair
			if st, fitted := s.first(a, c, c.tries(s, a)); st != nil {
				return s.settle(base{attempt: fitted}, []step{*st})
			}
		}
		bases = s.repair(a, maxDepth)
	}
	for _, b := range bases {
		if s.probe(b.attempt).kind == fits {
			return s.settle(b, nil)
		}
	}
	bases = bases[:min(len(bases), maxBases)] // none where no header can be read: then nothing else can be tried
	for _, b := range bases {
		if fitted, ok := s.singles(b); ok {
			return fitted, true
		}
	}
	s.budget = min(s.budget, maxPairs)
	for _, b := range bases {
		if fitted, ok := s.pairs(b); ok {
			return fitted, true
		}
	}
	return a, false
}

// settle keeps what made the signature fit, a finding for each step.
func (s *search) settle(b base, more []step) (attempt, bool) {
	for i, st := range append(slices.Clone(b.steps), more...) {
		text := "it matches when " + st.what
		if i > 0 {
			text = "and when " + st.what
		}
		s.find(st.code, text, st.do)
	}
	return b.attempt, true
}

// singles tries every cause, also once one has been found: the rest is what it is not.
func (s *search) singles(b base) (attempt, bool) {
	var fitted attempt
	var found *step
	for _, c := range causes {
		options := c.tries(s, b.attempt)
		if len(options) == 0 { // there is nothing to try it with: it may be the cause
			continue
		}
		st, at := s.first(b.attempt, c, options)
		switch {
		case st == nil && s.budget < 0:
			s.cut = true
		case st == nil:
			s.rule(c.name)
		case found == nil:
			found, fitted = st, at
		}
	}
	if found == nil {
		return fitted, false
	}
	return s.settle(base{fitted, b.steps}, []step{*found})
}

// rule says that something is not the cause.
func (s *search) rule(out string) {
	if !slices.Contains(s.report.NotIt, out) {
		s.report.NotIt = append(s.report.NotIt, out)
	}
}

func (s *search) first(a attempt, c cause, options []option) (*step, attempt) {
	for _, o := range options {
		changed, ok := o.apply(a)
		if !ok || s.budget < 0 || s.probe(changed).kind != fits {
			continue
		}
		return o.step(c), changed
	}
	return nil, a
}

func (o option) step(c cause) *step {
	st := &step{c.code, o.what, c.do}
	if o.do != "" {
		st.do = o.do
	}
	return st
}

// pairs tries two causes of two parts.
func (s *search) pairs(b base) (attempt, bool) {
	for i, first := range causes {
		if first.part == sender {
			continue
		}
		for _, o := range first.tries(s, b.attempt) {
			half, ok := o.apply(b.attempt)
			if !ok {
				continue
			}
			for _, second := range causes[i+1:] {
				if second.part == first.part || second.part == sender || s.budget < 0 {
					continue
				}
				if st, fitted := s.first(half, second, second.tries(s, half)); st != nil {
					s.report.NotIt = []string{} // alone, each of the two was not it
					return s.settle(base{fitted, b.steps}, []step{*o.step(first), *st})
				}
			}
		}
	}
	return attempt{}, false
}

// causes are tried in this order: what changes least and happens most comes first.
var causes = slices.Concat(bodyCauses, secretCauses, addressCauses, clockCauses, senderCauses)

// with is an attempt with other secrets.
func with(values ...secrets.Value) func(attempt) (attempt, bool) {
	return func(a attempt) (attempt, bool) {
		a.secrets = values
		return a, len(values) > 0
	}
}
