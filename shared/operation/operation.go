// Package operation is the domain of the work itself: one operation is one intended piece of work,
// this recipe version on this input of this object, and is paid for once.
//
// An operation's item is its lease item: a claim takes the lease and starts a numbered [Attempt], the
// fencing token grows with each claim and each cancellation, and every later write carries token and attempt
// id ([Lease]). What a refused write means is decided here, from the stored item, by [JudgeClaim],
// [JudgeFinish] and [JudgeRaise]; reading and writing are elsewhere.
package operation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
)

// ErrNotFound says that no such operation is stored.
var ErrNotFound = errors.New("operation not found")

// A Key says what an operation is. Two events that ask for the same key ask for the same work.
type Key struct {
	Scope  object.Scope
	Object object.ID
	Recipe inbox.RecipeRef
	Digest string // of the recipe's input, hex SHA-256
}

// String is "product:794/product-card@3/9f2c41d0…": how people name an operation. It holds no scope.
func (k Key) String() string {
	return k.Object.String() + "/" + k.Recipe.String() + "/" + k.Digest
}

// Short is the recipe, its version and the beginning of the digest: what a log line names the operation by, since an
// object's id may be an address.
func (k Key) Short() string { return k.Recipe.String() + "/" + k.Digest[:min(8, len(k.Digest))] }

// ParseName splits "object/recipe@version/digest" from the right, so that the object's own id may hold
// a slash. A beginning is enough: the digest may be incomplete or missing, and the recipe with it.
func ParseName(name string) (object.ID, string, string, error) {
	for _, cut := range []int{2, 1, 0} {
		parts, ok := cutRight(name, cut)
		if !ok {
			continue
		}
		if cut >= 1 && !strings.Contains(parts[1], "@") {
			continue
		}
		id, err := object.ParseID(parts[0])
		if err != nil {
			return object.ID{}, "", "", fmt.Errorf("read operation name: %w", err)
		}
		parts = append(parts, "", "")
		return id, parts[1], parts[2], nil
	}
	return object.ID{}, "", "", fmt.Errorf("read operation name %q: %w", name, object.ErrNoID)
}

// cutRight cuts n parts from the right end of name, slash by slash.
func cutRight(name string, n int) ([]string, bool) {
	parts := make([]string, n+1)
	for i := n; i > 0; i-- {
		at := strings.LastIndexByte(name, '/')
		if at < 0 {
			return nil, false
		}
		parts[i], name = name[at+1:], name[:at]
	}
	parts[0] = name
	return parts, true
}

// An Operation is what is stored of one intended piece of work.
type Operation struct {
	Key       Key
	State     State
	Token     int64     // fencing token: grows with each claim and with each cancellation, never falls
	Fences    []int64   // the tokens that cancellations took, and those of claims that were given back without a call (W8): no attempt has one of them
	Owner     AttemptID // of the attempt that holds the lease; empty otherwise
	BegunAt   time.Time // of the last claim
	LeaseEnd  time.Time
	Claims    int // counted against the limit
	NotBefore time.Time
	WriteID   string
	Event     inbox.EventID // the newest event that asked
	Rank      object.Rank   // of that event
	Output    []byte        // committed, or a draft
	Digest    string        // of the output
	Attempts  []Attempt
	Reason    string
	Category  Category
	Decision  *Decision // on a draft, or to cancel
	Dismissed *Decision // a failed one that a person took off the review list
	QueuedAt  time.Time // since when it stands in the review list
	ExpiresAt time.Time
}

// A Decision is what a named person decided, when and why.
type Decision struct {
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Note string    `json:"note"`
}

// History is every attempt that is known of: those recorded, those whose claim nobody recorded the end
// of, and the one that runs.
func (o Operation) History() []Attempt {
	switch all := append([]Attempt(nil), o.Attempts...); o.State {
	case Running:
		return append(o.unrecorded(all, o.Token-1), Attempt{ID: o.Owner, FencingToken: o.Token, StartedAt: o.BegunAt})
	case Failed, Pending: // every one that was claimed has ended, also where its worker died
		return o.unrecorded(all, o.Token)
	default:
		return all
	}
}

// LastClaim is the token of the last claim that was not given back without a call: the operation's own, unless it
// was cancelled since.
func (o Operation) LastClaim() int64 {
	token := o.Token
	for slices.Contains(o.Fences, token) {
		token--
	}
	return token
}

// unrecorded adds an attempt without an outcome for each token up to and with until that a claim took and none of
// the attempts has: its worker died or was fenced by a person, and those that came after it as well before they
// could record it.
func (o Operation) unrecorded(all []Attempt, until int64) []Attempt {
	var last int64
	if len(all) > 0 {
		last = all[len(all)-1].FencingToken
	}
	claimed := o.LastClaim()
	for token := last + 1; token <= until; token++ {
		if slices.Contains(o.Fences, token) {
			continue
		}
		lost := Attempt{FencingToken: token, Outcome: Lost, Category: CategoryTransient, Reason: "no outcome was recorded"}
		if token == claimed && o.State != Superseded { // of the last claim more is known
			lost.ID, lost.StartedAt = o.Owner, o.BegunAt
		}
		all = append(all, lost)
	}
	return all
}

// A Claim is a request for the lease of an operation.
type Claim struct {
	Key     Key
	Attempt AttemptID
	WriteID string
	Event   inbox.EventID
	Rank    object.Rank
	Now     time.Time     // the claimant's clock, read before the write is sent
	Until   time.Time     // when the lease ends, by that clock
	Skew    time.Duration // the largest difference between two of our clocks
	Limit   int           // claims allowed in all
}

// Past is the latest end of a lease that is over for certain, whoever's clock wrote it.
func (c Claim) Past() time.Time { return c.Now.Add(-c.Skew) }

// A Lease is the right to write to an operation: the store compares token and attempt, never the clock.
type Lease struct {
	Key     Key
	Attempt AttemptID
	Token   int64
	Claims  int // with this one
	Begun   time.Time
	Until   time.Time
	Before  Operation // as it was before the claim: its attempts, and an ended lease that nobody recorded
}

// Log is the attempts to store when the lease ends with this one: those before, those that nobody
// recorded the end of, the one that was taken over among them, and this one.
func (l Lease) Log(this Attempt) []Attempt {
	until := min(l.Before.Token, l.Token-1)
	if l.Before.State == Superseded { // that claim was given back, no call was made
		until--
	}
	all := l.Before.unrecorded(append([]Attempt(nil), l.Before.Attempts...), until)
	this.ID, this.FencingToken, this.StartedAt = l.Attempt, l.Token, l.Begun
	if n := len(all) - 1; n >= 0 && this.folds(all[n]) {
		this.Repeats = all[n].Repeats + 1
		all = all[:n]
	}
	return append(all, this)
}

// folds tells whether an attempt that was given back ended as the one before it. A long outage ends thousands of
// probes in one way, and an item holds 400 KB.
func (a Attempt) folds(before Attempt) bool {
	givenBack := a.Outcome == Paused || a.Outcome == Stopped
	return givenBack && a.Outcome == before.Outcome && a.Category == before.Category && a.Reason == before.Reason && a.HTTPStatus == before.HTTPStatus
}

// A Finish ends a lease with its attempt recorded.
type Finish struct {
	Lease     Lease
	WriteID   string
	Attempts  []Attempt
	Output    []byte // complete, draft
	Digest    string // of the output
	NotBefore time.Time
	Reason    string // failed, draft
	Category  Category
	Now       time.Time
	ExpiresAt time.Time // completed
}

// A Result is the accepted output for an object under one recipe version: a copy of a committed
// operation's output, ordered by rank alone.
type Result struct {
	Scope     object.Scope
	Object    object.ID
	Recipe    inbox.RecipeRef
	Rank      object.Rank
	Operation Key
	Event     inbox.EventID
	Output    []byte
	Digest    string // of the output
	At        time.Time
	ExpiresAt time.Time
}

// ParseKey reads a whole operation name within a scope.
func ParseKey(scope object.Scope, name string) (Key, error) {
	id, ref, digest, err := ParseName(name)
	if err != nil {
		return Key{}, err
	}
	r, err := inbox.ParseRecipeRef(ref)
	if err != nil || digest == "" {
		return Key{}, fmt.Errorf("read operation name %q: not object/recipe@version/digest", name)
	}
	return Key{Scope: scope, Object: id, Recipe: r, Digest: digest}, nil
}
