// Package pause is the domain of holding work on purpose: a [Pause] by a person, and the [Breaker] that
// pauses a provider's model by itself while it cannot serve.
//
// What is held is never lost: its event stays open and is due again later. Neither burns an attempt nor a
// receive count.
package pause

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/lifecycle"
	"engang/shared/object"
	"engang/shared/operation"
)

// ErrStale says that a write to a breaker was refused: it is open already, another one probes, or the probe is
// not the caller's any more.
var ErrStale = errors.New("the breaker changed meanwhile")

// ErrLonger says that a pause was refused: one of the same target that ends later is in force.
var ErrLonger = errors.New("a pause that ends later is in force")

// A LongerError says which pause is in force where a shorter one was refused.
type LongerError struct{ Stored Pause }

// Error names the target.
func (e *LongerError) Error() string { return fmt.Sprintf("%v: %s", ErrLonger, e.Stored.Target) }

// Is makes errors.Is(err, ErrLonger) true.
func (e *LongerError) Is(target error) bool { return target == ErrLonger }

// A State is where a breaker stands. The texts are stored.
type State string

// The states of a breaker.
const (
	Closed State = "closed"
	Open   State = "open"
)

// The transitions of a breaker.
var (
	Trip   = lifecycle.Transition[State]{Name: "open", From: []State{Closed}, To: Open}
	Try    = lifecycle.Transition[State]{Name: "probe", From: []State{Open}, To: Open}
	Settle = lifecycle.Transition[State]{Name: "close", From: []State{Open}, To: Closed}
	Resume = lifecycle.Transition[State]{Name: "resume", From: []State{Open}, To: Closed, Person: true}
)

// Lifecycle is the one statement of how a breaker may move.
var Lifecycle = lifecycle.Machine[State]{
	Name:  "breaker",
	Start: Open, // the first failure makes the item; without one it is closed
	States: []lifecycle.State[State]{
		{Name: Open, Means: "The provider cannot serve this model; at the probe time one operation is let through, and an answer closes it. A crash of the probe leaves it open until the next probe time."},
		{Name: Closed, Rest: true, Means: "The model is served; nothing is held."},
	},
	Transitions: []lifecycle.Transition[State]{Trip, Try, Settle, Resume},
}

// A Model is what a breaker is for: a provider's model as one tenant and environment reaches it, since
// another tenant has another key and another quota.
type Model struct {
	Scope    object.Scope
	Provider string
	Name     string
}

// String is "openai/gpt-5.4-mini-2026-03-17".
func (m Model) String() string { return m.Provider + "/" + m.Name }

// A Breaker is what is stored of one. Its zero value is closed.
type Breaker struct {
	Model   Model
	State   State               // empty: never opened
	Until   time.Time           // the next probe time
	Owner   operation.AttemptID // who probes, or probed last
	Reason  string              // ours, without content
	At      time.Time           // of the last change of state
	WriteID string
}

// Holds tells whether a model must not be called now: nothing but a probe goes through.
func (b Breaker) Holds() bool { return b.State == Open }

// Due tells whether it is time for a probe.
func (b Breaker) Due(now time.Time) bool { return b.State == Open && !b.Until.After(now) }

// An Opening opens a breaker (W23). It is refused while the breaker is open.
type Opening struct {
	Model   Model
	Until   time.Time
	Reason  string
	WriteID string
	Now     time.Time
}

// A Probe asks to be the one that tries (W25). It is granted to one of all that saw the same probe time.
type Probe struct {
	Model   Model
	Seen    time.Time // the probe time that was read
	Next    time.Time // from now further away than a call and its finish
	Owner   operation.AttemptID
	WriteID string
}

// A Closing closes a breaker after an answered probe (W26), or on behalf of a person, who need not be the
// one that probed.
type Closing struct {
	Model   Model
	Owner   operation.AttemptID // empty: a person resumes the model
	WriteID string
	Now     time.Time
}

// A Kind says what is paused.
type Kind string

// The kinds. Everything is all work of a tenant and environment; an endpoint that is paused still stores
// and answers 200.
const (
	Everything Kind = "everything"
	Endpoint   Kind = "endpoint"
	Recipe     Kind = "recipe"
	AModel     Kind = "model"
)

// A Target is what a person pauses.
type Target struct {
	Scope object.Scope
	Kind  Kind
	Name  string // of the endpoint, of the recipe, "provider/model"; empty for everything
}

// String is "endpoint woo-shop" or "everything".
func (t Target) String() string { return strings.TrimSpace(string(t.Kind) + " " + t.Name) }

// ParseKind reads a kind.
func ParseKind(text string) (Kind, error) {
	switch k := Kind(text); k {
	case Everything, Endpoint, Recipe, AModel:
		return k, nil
	}
	return "", fmt.Errorf("%q is none of everything, endpoint, recipe and model", text)
}

// A Pause holds work on behalf of a person.
type Pause struct {
	Target Target
	Until  time.Time // zero: until it is resumed
	By     string
	Reason string
	At     time.Time
}

// Holds tells whether the pause is in force.
func (p Pause) Holds(now time.Time) bool { return p.Until.IsZero() || p.Until.After(now) }

// Pauses are all pauses of a system, as they were read.
type Pauses []Pause

// Of finds the pause that holds one of the targets now, the first of them in order.
func (all Pauses) Of(now time.Time, targets ...Target) (Pause, bool) {
	for _, t := range targets {
		for _, p := range all {
			if p.Target == t && p.Holds(now) {
				return p, true
			}
		}
	}
	return Pause{}, false
}

// Compare orders pauses by what is paused.
func Compare(a, b Pause) int {
	return cmp.Or(cmp.Compare(a.Target.Scope.String(), b.Target.Scope.String()), cmp.Compare(a.Target.Kind, b.Target.Kind), cmp.Compare(a.Target.Name, b.Target.Name))
}
