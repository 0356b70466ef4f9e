package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"engang/shared/audit"
	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/dynamo"
	"engang/shared/enrich"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/model"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/reconcile"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// skew is the largest difference between two clocks that the system allows for.
const skew = 5 * time.Second

// A process is one execution environment: it has a clock of its own, which is wrong, and what it remembers is gone
// when it dies.
type process struct {
	w    *world
	name string
	off  time.Duration // of its clock
	ids  int
	busy bool

	worker   *enrich.Worker
	intake   *intake.Intake
	sweeper  *reconcile.Sweeper
	control  *control.Control
	settings *config.Recipes[*compiled.Recipe]
}

func (w *world) newProcess(name string) *process {
	p := &process{w: w, name: name}
	p.renew()
	return p
}

// renew is a cold start.
func (p *process) renew() {
	p.worker, p.intake, p.sweeper, p.control, p.settings = nil, nil, nil, nil, nil
	most := skew / 2
	if p.w.scene.wrong {
		most = 80 * time.Second // a sender's signature is good for five minutes
	}
	p.off = p.w.dice.between(-most, most, "clock of "+p.name, p.ids)
	p.ids++
}

// now is the time as the process has it.
func (p *process) now() time.Time { return noon.Add(p.w.clock + p.off) }

func (p *process) newID() string {
	p.ids++
	return p.w.dice.id(p.name, p.ids)
}

func (p *process) random() float64 {
	p.ids++
	return p.w.dice.unit(p.name, p.ids)
}

// live is the applied configuration as the process remembers it.
func (p *process) live(ttl time.Duration) config.Recipes[*compiled.Recipe] {
	if p.settings == nil {
		live := config.NewRecipes(config.NewCache(p.w.table, ttl, p.now), compiled.New)
		p.settings = &live
	}
	return *p.settings
}

// limits of work are those of a deployed system.
var limits = enrich.Limits{
	Call: 75 * time.Second, Finish: 10 * time.Second, Lease: 100 * time.Second, Skew: skew, Attempts: 5, Answer: time.Hour, // whether an answer comes is the schedule's
	BackoffBase: 2 * time.Second, BackoffMax: 15 * time.Minute, Hide: time.Minute, Pause: 5 * time.Minute, Remember: 5 * time.Second,
}

// works is the process as a worker.
func (p *process) works() *enrich.Worker {
	if p.worker == nil {
		w := p.w
		live := p.live(5 * time.Second)
		var parts enrich.Parts = &intake.Splitter{Endpoints: live, Bodies: w.bodies, OpenAge: openAge, Log: w.log, Now: p.now, NewID: p.newID}
		if w.Partial {
			parts = firstPart{parts}
		}
		client := model.New(&http.Client{Transport: w}, vault{}).Clock(p.now)
		p.worker = enrich.New(enrich.Deps{
			Store: w.table, Recipes: live, Model: caller{client}, Bodies: w.bodies, Notices: w.letters, Sender: w.work,
			Parts: parts, Limits: limits, Log: w.log, Now: p.now, NewID: p.newID, Random: p.random,
			Wait: func(ctx context.Context, d time.Duration) error { return actorOf(ctx).wait(ctx, d) },
		})
	}
	return p.worker
}

// receives is the process as a receiver. Its deadlines are the schedule's.
func (p *process) receives() *intake.Intake {
	if p.intake == nil {
		w := p.w
		p.intake = intake.New(intake.Deps{
			Endpoints: p.live(5 * time.Second), Vault: vault{}, Signers: vault{}, Bodies: w.bodies, Store: w.table, Queue: w.work,
			Limits: intake.Limits{OpenAge: openAge, Stored: time.Hour, Send: time.Hour, Head: time.Hour, Count: time.Hour},
			Log:    w.log, Now: p.now, NewID: p.newID,
		})
	}
	return p.intake
}

// sweeps is the process as a reconciler.
func (p *process) sweeps() *reconcile.Sweeper {
	if p.sweeper == nil {
		w := p.w
		p.sweeper = reconcile.New(reconcile.Deps{
			Events: w.table, Queue: w.work, Notices: w.letters, Log: w.log, Now: p.now,
			Limits: reconcile.Limits{Age: openAge, MaxWait: time.Hour, Sends: 10, Backlog: 100, Shards: dynamo.OpenShards, Rate: 1000},
		})
	}
	return p.sweeper
}

// decides is the process as the console.
func (p *process) decides() *control.Control {
	if p.control == nil {
		w := p.w
		p.control = control.New(control.Deps{
			Store: desk{w.table}, Endpoints: p.live(0), Configs: w.table, Bodies: shelf{w.bodies}, Work: w.work, Letters: w.letters, Eraser: w.table, Shredder: w.bodies, OpenAge: openAge, Now: p.now, NewID: p.newID,
		})
	}
	return p.control
}

// desk is the table as the console sees it.
type desk struct{ *dynamo.Table }

// Listed lists the events of a day. Years before the history nobody needs to ask for.
func (d desk) Listed(ctx context.Context, scope object.Scope, day time.Time, after string, limit int) ([]inbox.EventID, string, error) {
	if day.Before(noon.AddDate(0, 0, -2)) {
		return nil, "", nil
	}
	return d.Table.Listed(ctx, scope, day, dynamo.Page{After: after, Limit: limit})
}

// Acts lists the acts of a day.
func (d desk) Acts(ctx context.Context, scope object.Scope, day time.Time, after string, limit int) ([]audit.Entry, string, error) {
	return d.Table.Acts(ctx, scope, day, dynamo.Page{After: after, Limit: limit})
}

// A caller calls the model.
type caller struct{ client *model.Client }

// Call makes one call.
func (c caller) Call(ctx context.Context, p config.Provider, prompt recipe.Prompt) operation.Answer {
	return c.client.Call(ctx, model.Connection{BaseURL: p.BaseURL, APIKey: p.APIKey}, prompt)
}

// vault has the secrets, which never change here.
type vault struct{}

var secret = secrets.NewValue("whsec_c2ltdWxhdGVkLXNlY3JldC1vZi0zMi1ieXRlcw==")

// Secrets are those of the endpoint.
func (vault) Secrets(context.Context, []secrets.Ref) ([]secrets.Value, error) {
	return []secrets.Value{secret}, nil
}

// Renewed are the same.
func (vault) Renewed(context.Context, []secrets.Ref) ([]secrets.Value, bool, error) {
	return []secrets.Value{secret}, false, nil
}

// Secret is the model's key.
func (vault) Secret(context.Context, secrets.Ref) (secrets.Value, error) {
	return secrets.NewValue("sk-simulated"), nil
}

// Certificate is none: nobody here signs with one.
func (vault) Certificate(context.Context, webhook.Scheme, webhook.Request) ([]byte, error) {
	return nil, nil
}

// String is the name of the process.
func (p *process) String() string { return fmt.Sprint(p.name) }

// shelf reads bodies as the console does: one that is gone is content that is not kept any more.
type shelf struct{ *bodies.Bucket }

// Read reads the exact bytes of a delivery.
func (s shelf) Read(ctx context.Context, b inbox.Body) ([]byte, error) {
	raw, err := s.Bucket.Read(ctx, b)
	if errors.Is(err, bodies.ErrGone) {
		return nil, fmt.Errorf("%w: %w", control.ErrGone, err)
	}
	return raw, err
}
