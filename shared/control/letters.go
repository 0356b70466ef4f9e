package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// Letters is the dead-letter queue.
type Letters interface {
	// Peek gives letters that were received before an error with it: they are hidden all the same.
	Peek(ctx context.Context, limit int, hide time.Duration) (letters []inbox.Letter, more bool, err error)
	Return(ctx context.Context, handles []string) error
	Delete(ctx context.Context, handles []string) error
}

// MaxLetters is how many dead letters one page holds.
const MaxLetters = 100

// hidden is how long letters stay hidden when more follow: long enough to go through all the pages, so that none
// brings a letter twice.
const hidden = time.Minute

// nextLetters is the cursor of the dead letters. The queue has no places: what was seen is hidden.
const nextLetters = "more"

// How a dead letter stands to the work that it tells of.
const (
	LetterFailed    = "failed"    // the operation still stands failed as the letter tells
	LetterParked    = "parked"    // the event still stands parked as the letter tells
	LetterRedriven  = "redriven"  // it was opened again since
	LetterDismissed = "dismissed" // a person decided that nothing is to be done
	LetterCancelled = "cancelled" // a person stopped it since
	LetterGone      = "gone"      // what it tells of is not kept any more
	LetterNative    = "native"    // the queue set it aside, received too often: no reason of ours, and the event is not lost
	LetterForeign   = "foreign"   // nothing of ours
)

// A Letter is a message of the dead-letter queue with what it tells of, as that stands now.
type Letter struct {
	Kind        string     `json:"kind"`     // "letter"
	ID          string     `json:"id"`       // of the message
	Standing    string     `json:"standing"` // a Letter… constant
	Over        bool       `json:"over"`     // nothing waits for it any more
	Tenant      string     `json:"tenant,omitempty"`
	Environment string     `json:"environment,omitempty"`
	Object      string     `json:"object,omitempty"`
	Event       string     `json:"event,omitempty"`
	Operation   string     `json:"operation,omitempty"`
	State       string     `json:"state,omitempty"` // of the operation, else of the event
	Reason      string     `json:"reason,omitempty"`
	Category    string     `json:"category,omitempty"`
	Attempts    int        `json:"attempts"` // that are known of; of a native letter those made for its event
	SentAt      *time.Time `json:"sent_at"`  // for the first time, to whatever queue
	Receives    int        `json:"receives"`
	Bytes       int        `json:"bytes"`

	handle string
}

// Letters looks through the dead-letter queue, and says of each letter what became of what it tells. The letters
// stay in the queue. A scope that is named shows its own letters alone, and what is nobody's.
//
// A page has at most [MaxLetters]. Where more follow, what was seen stays hidden for a minute, and asking with
// next as after goes on with the rest. Who else looks at that moment sees less. SQS keeps a letter for its
// retention period at most, counted from its first send: the review list has what still waits.
func (c *Control) Letters(ctx context.Context, scope object.Scope, after string) (List[Letter], error) {
	list := List[Letter]{Items: []Letter{}}
	all, more, err := c.peek(ctx, after)
	if err != nil {
		return list, err
	}
	for _, l := range all {
		if l.within(scope) {
			list.Items = append(list.Items, l)
		}
	}
	slices.SortStableFunc(list.Items, func(a, b Letter) int { return b.sentAt().Compare(a.sentAt()) })
	if more {
		list.Next = nextLetters
		return list, nil
	}
	return list, c.giveBack(ctx, all)
}

// A Tidying asks to clear the dead-letter queue of what nothing waits for.
type Tidying struct {
	Native bool   // also send what the queue itself set aside to the work queue again
	After  string // next of the page before; empty for the first
	By     string // the caller's identity
	Reason string
}

// A Tidied says what one page of tidying did.
type Tidied struct {
	Kind    string `json:"kind"` // "tidied"
	Letters int    `json:"letters"`
	Sent    int    `json:"sent"`    // events that were sent to the work queue again; their letters are deleted
	Deleted int    `json:"deleted"` // letters, with those of the events that were sent
	Left    int    `json:"left"`
	Next    string `json:"next"` // asks for the page behind this one; empty at the end
}

// Tidy deletes letters whose failure is over, one page of them: what was redriven, decided, or is not kept any
// more. A native letter whose event is settled or parked is deleted as well; where it is open, and native ones are
// asked for, the event is sent first, so that a crash between leaves it both sent and in the queue, which is
// harmless. What still waits and what is not ours is left. It is recorded first, for each tenant and environment.
func (c *Control) Tidy(ctx context.Context, scope object.Scope, t Tidying) (Tidied, error) {
	doc := Tidied{Kind: "tidied"}
	if err := answerable(t.By, t.Reason); err != nil {
		return doc, err
	}
	all, more, err := c.peek(ctx, t.After)
	if err != nil {
		return doc, err
	}
	s := sort(all, scope, t.Native)
	if err := c.recordTidying(ctx, s, t); err != nil {
		return doc, errors.Join(err, c.giveBack(ctx, all))
	}
	for _, l := range s.send {
		if err := c.d.Work.Send(ctx, inbox.Reference{Event: inbox.EventID(l.Event), Tenant: l.Tenant}); err != nil { // it stays in this queue
			return doc, errors.Join(fmt.Errorf("tidy dead letters: %w", err), c.giveBack(ctx, all))
		}
		s.remove = append(s.remove, l)
	}
	if err := c.d.Letters.Delete(ctx, handles(s.remove)); err != nil {
		return doc, errors.Join(fmt.Errorf("tidy dead letters: %w", err), c.giveBack(ctx, s.leave))
	}
	doc.Letters, doc.Sent, doc.Deleted, doc.Left = len(all), len(s.send), len(s.remove), len(s.leave)
	if more {
		doc.Next = nextLetters
		return doc, nil
	}
	return doc, c.giveBack(ctx, s.leave)
}

// sorted are letters by what is done with them.
type sorted struct{ send, remove, leave []Letter }

func sort(all []Letter, scope object.Scope, native bool) (s sorted) {
	for _, l := range all {
		switch {
		case !l.within(scope):
			s.leave = append(s.leave, l)
		case l.Over:
			s.remove = append(s.remove, l)
		case l.Standing == LetterNative && native:
			s.send = append(s.send, l)
		default:
			s.leave = append(s.leave, l)
		}
	}
	return s
}

func (c *Control) recordTidying(ctx context.Context, s sorted, t Tidying) error {
	counts := map[object.Scope][2]int{}
	for i, group := range [][]Letter{s.send, s.remove} {
		for _, l := range group {
			n := counts[l.scope()]
			n[i]++
			counts[l.scope()] = n
		}
	}
	for scope, n := range counts {
		target := fmt.Sprintf("dead-letter queue: %d to send again, %d to delete", n[0], n[1])
		if err := c.recordNow(ctx, scope, "tidy dead letters", Look{ID: target, By: t.By, Reason: t.Reason}); err != nil {
			return err
		}
	}
	return nil
}

func (l Letter) scope() object.Scope {
	return object.Scope{Tenant: l.Tenant, Environment: l.Environment}
}

// sentAt is the zero time where the queue did not say it.
func (l Letter) sentAt() time.Time {
	if l.SentAt == nil {
		return time.Time{}
	}
	return *l.SentAt
}

// within tells whether a letter is of the named tenant and environment, as far as they are named. What is nobody's
// is everybody's.
func (l Letter) within(named object.Scope) bool {
	return (named.Tenant == "" || l.Tenant == "" || named.Tenant == l.Tenant) &&
		(named.Environment == "" || l.Environment == "" || named.Environment == l.Environment)
}

func handles(of []Letter) []string {
	var all []string
	for _, l := range of {
		all = append(all, l.handle)
	}
	return all
}

// giveBack makes letters visible again at once. What fails is seen again within a minute all the same.
func (c *Control) giveBack(ctx context.Context, all []Letter) error {
	if err := c.d.Letters.Return(context.WithoutCancel(ctx), handles(all)); err != nil {
		return fmt.Errorf("give dead letters back: %w", err)
	}
	return nil
}

// peek takes one page of letters and joins each with what it tells of, side by side.
func (c *Control) peek(ctx context.Context, after string) ([]Letter, bool, error) {
	if after != "" && after != nextLetters {
		return nil, false, ErrCursor
	}
	found, more, err := c.d.Letters.Peek(ctx, MaxLetters, hidden)
	all := make([]Letter, len(found))
	faults := make([]error, len(found))
	sideBySide(len(found), func(i int) {
		l := found[i]
		all[i] = Letter{Kind: "letter", ID: l.ID, handle: l.Handle, SentAt: at(l.SentAt), Receives: l.Receives, Bytes: l.Bytes, Event: string(l.Event)}
		if err == nil {
			faults[i] = c.join(ctx, l, &all[i])
		}
	})
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, false, errors.Join(fmt.Errorf("look at dead letters: %w", err), c.giveBack(ctx, all))
	}
	return all, more, nil
}

// sideBySide does something n times, a few at once.
func sideBySide(n int, do func(i int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	group.Wait()
}

// join completes a letter by what it tells of.
func (c *Control) join(ctx context.Context, l inbox.Letter, doc *Letter) error {
	switch n := l.Notice; {
	case l.Event == "":
		doc.Standing = LetterForeign
		return nil
	case n == nil:
		return c.joinNative(ctx, l.Event, doc)
	default:
		doc.Tenant, doc.Environment = n.Scope.Tenant, n.Scope.Environment
		doc.Operation, doc.Reason, doc.Category = n.Operation, n.Reason, n.Category
		if n.Operation == "" {
			return c.joinEvent(ctx, *n, doc)
		}
		return c.joinOperation(ctx, *n, doc)
	}
}

func (c *Control) joinOperation(ctx context.Context, n inbox.Notice, doc *Letter) error {
	key, err := operation.ParseKey(n.Scope, n.Operation)
	if err != nil { // a notice of ours that names no operation: nothing can be said of it
		doc.Standing = LetterForeign
		return nil
	}
	doc.Object = key.Object.String()
	o, err := c.d.Store.Operation(ctx, key)
	if errors.Is(err, operation.ErrNotFound) {
		doc.Standing, doc.Over = LetterGone, true
		return nil
	}
	if err != nil {
		return err
	}
	doc.State, doc.Attempts = string(o.State), len(o.History())
	switch {
	case o.Category == operation.CategoryCancelled: // with a token of its own
		doc.Standing, doc.Over = LetterCancelled, true
	case o.State != operation.Failed || o.Token != n.Token:
		doc.Standing, doc.Over = LetterRedriven, true
	case o.Dismissed != nil:
		doc.Standing, doc.Over = LetterDismissed, true
	default:
		doc.Standing = LetterFailed
	}
	return nil
}

func (c *Control) joinEvent(ctx context.Context, n inbox.Notice, doc *Letter) error {
	e, err := c.d.Store.Event(ctx, n.Event)
	if errors.Is(err, inbox.ErrNotFound) {
		doc.Standing, doc.Over = LetterGone, true
		return nil
	}
	if err != nil {
		return err
	}
	doc.Object, doc.State = e.Object.String(), string(e.State)
	switch {
	case e.State != inbox.Parked || e.Generation != n.Generation:
		doc.Standing, doc.Over = LetterRedriven, true
	case e.Dismissed != nil:
		doc.Standing, doc.Over = LetterDismissed, true
	default:
		doc.Standing = LetterParked
	}
	return nil
}

// joinNative looks at the event: open, it is still owed and the reconciler sends it; else there is nothing left of it.
func (c *Control) joinNative(ctx context.Context, id inbox.EventID, doc *Letter) error {
	doc.Standing = LetterNative
	e, err := c.d.Store.Event(ctx, id)
	if errors.Is(err, inbox.ErrNotFound) { // whose it was is not known: the queue's retention ends it
		doc.Standing = LetterGone
		return nil
	}
	if err != nil {
		return err
	}
	doc.Tenant, doc.Environment = e.Scope.Tenant, e.Scope.Environment
	doc.Object, doc.State, doc.Over = e.Object.String(), string(e.State), e.State != inbox.Received
	if e.Object.IsZero() {
		return nil
	}
	all, err := c.collect(ctx, e.Scope, e.Object)
	if err != nil {
		return err
	}
	var names []string
	for _, o := range all.ops {
		if o.Event == id {
			doc.Attempts += len(o.History())
			names = append(names, o.Key.String())
		}
	}
	doc.Operation = strings.Join(names, ", ")
	return nil
}
