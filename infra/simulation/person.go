package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/control"
	"engang/shared/operation"
	"engang/shared/pause"
)

// because is every person's reason here.
const because = "simulated"

// An act is what a person does, and what about.
type act struct {
	name string
	do   func(ctx context.Context, c *control.Control, by string) error
	on   *operation.Operation // as it was looked at; nil: it is about something else
}

// planActs has people act.
func (w *world) planActs() {
	for i, t := range w.scene.acts {
		name := fmt.Sprintf("act %d", i+1)
		if !w.happens(name) {
			continue
		}
		w.at(t, name, func() {
			chosen := w.choose(name)
			w.acts(name, "ann", chosen)
			if w.dice.chance(300, name+" twice", 0) { // a second person, or a double click
				if w.dice.chance(500, name+" otherwise", 0) {
					chosen = w.choose(name + " of another")
				}
				w.acts(name+" again", "bob", chosen)
			}
		})
	}
}

// acts has somebody act, and once more where no answer came.
func (w *world) acts(name, by string, x act) {
	p := w.processOf(fmt.Sprintf("console %d", 1+w.dice.below(2, "console for "+name, 0)))
	a := &actor{name: by + ", " + name, process: p, person: true, end: w.clock + consoleTime}
	w.counts.Acts++
	w.start(a, func(ctx context.Context) {
		for try := range 2 {
			a.again = try > 0
			err := x.do(ctx, p.decides(), by)
			said := "done"
			if err != nil {
				said = outcomeOf(err)
			}
			w.note(a, x.name, said)
			if a.dead || !errors.Is(err, errLost) {
				return
			}
		}
	})
}

// outcomeOf says what an act came to without what differs from run to run.
func outcomeOf(err error) string {
	text, _, _ := strings.Cut(err.Error(), "RequestID")
	return "not done: " + text
}

// choose throws what a person does: mostly about what waits.
func (w *world) choose(name string) act {
	if w.dice.chance(700, name+" decides", 0) {
		if x, ok := w.chooseWaiting(name); ok {
			return x
		}
	}
	switch w.dice.below(7, name, 0) {
	case 0:
		return w.pausing(pause.Target{Scope: scope, Kind: pause.Everything})
	case 1:
		return w.pausing(pause.Target{Scope: scope, Kind: pause.Recipe, Name: "card"})
	case 2:
		return act{name: "redrive by the queue's button", do: func(context.Context, *control.Control, string) error { return w.moveBack(name) }}
	case 3:
		return act{name: "tidy the dead letters", do: func(ctx context.Context, c *control.Control, by string) error {
			_, err := c.Tidy(ctx, scope, control.Tidying{Native: true, By: by, Reason: because})
			return err
		}}
	case 4:
		return w.raising()
	case 5:
		return w.replaying()
	}
	return w.chooseEvent(name)
}

// chooseEvent cancels an event, or redrives it.
func (w *world) chooseEvent(name string) act {
	all := w.scene.deliveries
	id := all[w.dice.below(len(all), name+" event", 0)].wants()
	if w.dice.chance(500, name+" redrives", 0) {
		return w.redriving(string(id))
	}
	return act{name: "cancel " + string(id), do: func(ctx context.Context, c *control.Control, by string) error {
		_, err := c.Cancel(ctx, scope, control.Stop{ID: string(id), By: by, Reason: because})
		return err
	}}
}

func (w *world) redriving(id string) act {
	return act{name: "redrive " + id, do: func(ctx context.Context, c *control.Control, by string) error {
		_, err := c.Redrive(ctx, scope, control.Redriving{ID: id, By: by, Reason: because})
		return err
	}}
}

// chooseWaiting acts on one of what waits for a person.
func (w *world) chooseWaiting(name string) (act, bool) {
	waiting, _, err := w.table.Reviews(w.ctx, "", 50)
	if err != nil || len(waiting) == 0 {
		return act{}, false
	}
	one := waiting[w.dice.below(len(waiting), name+" which", 0)]
	if one.Operation == nil {
		return w.aboutEvent(name, one), true
	}
	o, err := w.table.Operation(w.ctx, *one.Operation)
	if err != nil {
		return act{}, false
	}
	x := w.aboutOperation(name, o)
	x.on = &o
	return x, true
}

func (w *world) aboutEvent(name string, one operation.Waiting) act {
	id := string(one.Event)
	if one.Conflict != "" {
		return w.dismissing(id + "/" + one.Conflict)
	}
	switch w.dice.below(3, name+" how", 0) {
	case 0:
		return w.redriving(id)
	case 1:
		return w.chooseEvent(name)
	}
	return w.dismissing(id)
}

func (w *world) dismissing(id string) act {
	return act{name: "dismiss " + id, do: func(ctx context.Context, c *control.Control, by string) error {
		_, err := c.Dismiss(ctx, scope, control.Deciding{ID: id, By: by, Reason: because})
		return err
	}}
}

func (w *world) aboutOperation(name string, o operation.Operation) act {
	id := o.Key.String()
	how := w.dice.below(6, name+" how", 0)
	cancelling := act{name: "cancel " + id, do: func(ctx context.Context, c *control.Control, by string) error {
		_, err := c.Cancel(ctx, scope, control.Stop{ID: id, By: by, Reason: because})
		return err
	}}
	switch {
	case o.State == operation.Review && how < 3:
		return w.approving(o)
	case o.State == operation.Review && how == 5:
		return cancelling
	case o.State == operation.Review:
		return w.rejecting(o)
	case how < 4:
		return w.redriving(id)
	}
	return w.dismissing(id)
}

func (w *world) approving(o operation.Operation) act {
	seen := draft{o.Digest, w.payments[itemOf(o.Key)]}
	return act{name: "approve " + o.Key.String(), do: func(ctx context.Context, c *control.Control, by string) error {
		done, err := c.Approve(ctx, scope, control.Deciding{ID: o.Key.String(), Digest: o.Digest, AlthoughNewer: true, By: by, Reason: because})
		w.ownDecision(actorOf(ctx), o, done.Already || errors.Is(err, operation.ErrDecided))
		if err == nil && done.Decision == "approved" {
			w.approved[o.Key.String()] = seen
		}
		return err
	}}
}

// rejecting refuses a draft. Half of those who do want another one, and redrive it.
func (w *world) rejecting(o operation.Operation) act {
	return act{name: "reject " + o.Key.String(), do: func(ctx context.Context, c *control.Control, by string) error {
		d := control.Deciding{ID: o.Key.String(), Digest: o.Digest, By: by, Reason: because}
		done, err := c.Reject(ctx, scope, d)
		w.ownDecision(actorOf(ctx), o, done.Already || errors.Is(err, operation.ErrDecided))
		if err != nil || w.dice.chance(500, "another "+o.Key.String(), int(o.Token)) {
			return err
		}
		_, err = c.Redrive(ctx, scope, control.Redriving{ID: o.Key.String(), By: by, Reason: because})
		return err
	}}
}

// itemOf is where an operation stands.
func itemOf(k operation.Key) string {
	return operationItem(k.Object.String(), k.Recipe.String(), k.Digest)
}

// operationItem is where the operation of a recipe on an object stands: "product:1", "card@1".
func operationItem(about, recipe, digest string) string {
	name, version, _ := strings.Cut(recipe, "@")
	return fmt.Sprintf("B#%s#%s#%s O#%s@%06s#%s", scope.Tenant, scope.Environment, about, name, version, digest)
}

// ownDecision: who has just decided is not told that somebody did, though an answer was lost in between. Who asks again
// is.
func (w *world) ownDecision(a *actor, o operation.Operation, told bool) {
	name := shortName(o.Key.String())
	if w.deciders[name+" "+o.Digest] == a.name && told && !a.again {
		w.violated("approved-bytes: %s decided about a draft of %s, and was told that it was decided already", a.name, name)
	}
}

// pausing pauses something. It is resumed when the faults end, if nobody has done so before.
func (w *world) pausing(t pause.Target) act {
	return act{name: "pause " + t.String(), do: func(ctx context.Context, c *control.Control, by string) error {
		_, err := c.Pause(ctx, control.Pausing{Target: t, By: by, Reason: because})
		return err
	}}
}

// moveBack is what AWS's own button does to one dead letter.
func (w *world) moveBack(name string) error {
	all := w.letters.messages
	if len(all) == 0 {
		return nil
	}
	m := all[w.dice.below(len(all), name+" letter", 0)]
	w.letters.receiptOf(m)
	w.letters.remove(m.handle())
	w.work.put(m.Message, 0)
	return nil
}

// raising applies the next version of a recipe, and replays.
func (w *world) raising() act {
	return act{name: "raise a recipe and replay", do: func(ctx context.Context, c *control.Control, by string) error {
		live, err := c.Config(ctx, scope)
		if err != nil {
			return err
		}
		set := w.settings()
		set.Recipes[0] = w.scene.recipe("card", 2+w.raised)
		if _, err := c.Apply(ctx, control.Proposal{Set: set, Seen: live.Revision, By: by}); err != nil {
			return err
		}
		w.raised++
		return w.replaying().do(ctx, c, by)
	}}
}

func (w *world) replaying() act {
	return act{name: "replay", do: func(ctx context.Context, c *control.Control, by string) error {
		_, err := c.Replay(ctx, scope, control.Replaying{Span: control.Span{Since: noon.Add(-time.Hour)}, By: by, Reason: because})
		return err
	}}
}

// resumeAll ends every pause, and the faults with them.
func (w *world) resumeAll() {
	all, err := w.table.Pauses(w.ctx)
	if err != nil {
		w.violated("read pauses: %v", err)
	}
	now := noon.Add(w.clock)
	for _, t := range []pause.Target{{Scope: scope, Kind: pause.Everything}, {Scope: scope, Kind: pause.Recipe, Name: "card"}} {
		if _, ok := all.Of(now, t); !ok {
			continue
		}
		w.acts("resume "+t.String(), "ann", act{name: "resume " + t.String(), do: func(ctx context.Context, c *control.Control, by string) error {
			_, err := c.Resume(ctx, control.Pausing{Target: t, By: by, Reason: because})
			return err
		}})
	}
}
