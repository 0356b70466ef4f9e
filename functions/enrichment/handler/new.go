package handler

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/enrich"
	"engang/shared/intake"
	"engang/shared/model"
	"engang/shared/operation"
	"engang/shared/parameters"
	"engang/shared/queue"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/secrets"
	"engang/shared/settings"
)

// Settings is all that the function is told by its environment.
type Settings struct {
	Table       string
	WorkQueue   string // URL
	DeadLetters string // URL
	Bodies      string // bucket
	SecretPath  string
	ModelURL    string // where a provider's configuration names none
	Level       slog.Level
	Limits      enrich.Limits
	Retry       time.Duration // upper bound of the first wait after a failure of ours
	OpenAge     time.Duration // from the put of a part of a batch until the reconciler looks after it
	ConfigTTL   time.Duration // how long applied configuration is believed
	Speed       float64       // divides quiet periods of parts; zero: they are as long as the recipe says
	SecretTTL   time.Duration
}

// SettingsFromEnv reads the settings, and reports all faults at once.
func SettingsFromEnv() (Settings, error) {
	r := settings.FromEnv()
	s := Settings{
		Table:       r.TableName("TABLE_NAME"),
		WorkQueue:   r.URL("WORK_QUEUE_URL"),
		DeadLetters: r.URL("WORK_DEAD_LETTER_QUEUE_URL"),
		Bodies:      r.Text("BODIES_BUCKET"),
		SecretPath:  r.SecretPath("SECRET_PATH"),
		ModelURL:    r.URL("MODEL_BASE_URL"),
		Level:       r.Level("LOG_LEVEL"),
		OpenAge:     r.Seconds("OPEN_AGE_SECONDS", 300*time.Second), // as the receiver's and the reconciler's
		Limits: enrich.Limits{
			Call:     r.Seconds("CALL_SECONDS", 75*time.Second),
			Finish:   r.Seconds("FINISH_SECONDS", 10*time.Second),
			Lease:    r.Seconds("LEASE_SECONDS", 100*time.Second),
			Skew:     r.Seconds("SKEW_SECONDS", 5*time.Second), // far above what Lambda's clocks differ by
			Attempts: r.Int("ATTEMPT_LIMIT", 5, 15),            // the queue's receive limit is 20: five are left for busy leases
		},
	}
	Times(&s, 1)
	return s, errors.Join(r.Err(), s.Validate())
}

// Times sets the times that the environment does not: they are the same in every deployment. A local
// system divides them by its speed.
func Times(s *Settings, speed float64) {
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
	s.Limits.BackoffBase, s.Limits.BackoffMax = scaled(2*time.Second), scaled(15*time.Minute)
	s.Limits.Hide = scaled(time.Minute)      // above it a wait would spend receives
	s.Limits.Pause = scaled(5 * time.Minute) // a provider that cannot serve seldom can a minute later
	s.Retry = scaled(5 * time.Second)
	s.OpenAge = scaled(s.OpenAge)
	s.Speed = speed
	s.ConfigTTL, s.SecretTTL = 5*time.Second, 5*time.Minute
	s.Limits.Remember = 5 * time.Second // what a person pauses is held everywhere before they look
}

// Validate holds the times against each other: a lease that may end before its call is finished would
// pay twice.
func (s Settings) Validate() error {
	if s.Limits.Call+s.Limits.Finish >= s.Limits.Lease {
		return errors.New("CALL_SECONDS and FINISH_SECONDS together must be below LEASE_SECONDS")
	}
	return nil
}

// New wires the function. Nothing is called yet.
func New(s Settings, cfg aws.Config, log *slog.Logger) *Handler {
	table := dynamo.Open(cfg, s.Table)
	keys := secrets.NewCache(parameters.Open(cfg, s.SecretPath), s.SecretTTL, time.Now).Log(log)
	applied := config.NewRecipes(config.NewCache(table, s.ConfigTTL, time.Now), compiled.New)
	kept := bodies.Open(cfg, s.Bodies)
	work := queue.Open(cfg, s.WorkQueue)
	newID := func() string { return strings.ToLower(rand.Text()) }
	worker := enrich.New(enrich.Deps{
		Store:   table,
		Recipes: applied,
		Model:   caller{model.New(modelHTTP(cfg), keys), s.ModelURL},
		Bodies:  kept,
		Notices: queue.Open(cfg, s.DeadLetters),
		Parts:   &intake.Splitter{Endpoints: applied, Bodies: kept, OpenAge: s.OpenAge, Log: log, Now: time.Now, NewID: newID, Speed: s.Speed},
		Sender:  work,
		Limits:  s.Limits,
		Log:     log,
		Now:     time.Now,
		NewID:   newID,
		Random:  mathrand.Float64,
	})
	return &Handler{runner: worker, queue: work, retry: s.Retry, log: log}
}

// modelHTTP is the client for model calls: the one that was configured for AWS, if there is one, so
// that whoever watches or breaks calls sees these too.
func modelHTTP(cfg aws.Config) *http.Client {
	if c, ok := cfg.HTTPClient.(*http.Client); ok {
		return c
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.IdleConnTimeout = 30 * time.Second // a frozen environment must not wake up to a connection that is long gone
	return &http.Client{Transport: t}
}

// A caller calls the model at its provider's address.
type caller struct {
	client *model.Client
	url    string
}

// Call makes one call.
func (c caller) Call(ctx context.Context, p config.Provider, prompt recipe.Prompt) operation.Answer {
	return c.client.Call(ctx, model.Connection{BaseURL: cmp.Or(p.BaseURL, c.url), APIKey: p.APIKey}, prompt)
}
