package handler

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"engang/shared/bodies"
	"engang/shared/catchup"
	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/parameters"
	"engang/shared/queue"
	"engang/shared/reconcile"
	"engang/shared/secrets"
	"engang/shared/settings"
	"engang/shared/woocommerce"
)

// maxBody is the most that MAX_BODY_BYTES may say, as for the receiver.
const maxBody = 4 << 20

// Settings is all that the function is told by its environment.
type Settings struct {
	Table       string
	WorkQueue   string // URL
	DeadLetters string // URL
	Bodies      string // bucket
	SecretPath  string
	Level       slog.Level
	Limits      reconcile.Limits
	Taking      intake.Limits // of what is fetched, as of what is delivered
	Asking      catchup.Limits
}

// SettingsFromEnv reads the settings, and reports all faults at once.
func SettingsFromEnv() (Settings, error) {
	r := settings.FromEnv()
	taking := intake.UsualLimits
	taking.Body = r.Int("MAX_BODY_BYTES", taking.Body, maxBody)
	taking.OpenAge = r.Seconds("OPEN_AGE_SECONDS", taking.OpenAge) // above worker timeout 120 + lease 100 + skew 5
	s := Settings{
		Table:       r.TableName("TABLE_NAME"),
		WorkQueue:   r.URL("WORK_QUEUE_URL"),
		DeadLetters: r.URL("WORK_DEAD_LETTER_QUEUE_URL"),
		Bodies:      r.Text("BODIES_BUCKET"),
		SecretPath:  r.SecretPath("SECRET_PATH"),
		Level:       r.Level("LOG_LEVEL"),
		Taking:      taking,
		Asking:      catchup.UsualLimits,
		Limits: reconcile.Limits{
			Age:     taking.OpenAge,
			MaxWait: time.Hour,
			Sends:   r.Int("SEND_LIMIT", 10, 100),
			Backlog: r.Int("BACKLOG_LIMIT", 100, 1_000_000), // more than the workers take at once: slow is not lost
			Shards:  dynamo.OpenShards,
			Rate:    1_000, // what was held for hours drains at a thousand events a minute
		},
	}
	return s, r.Err()
}

// New wires the function. Nothing is called yet.
func New(s Settings, cfg aws.Config, log *slog.Logger) *Handler {
	table, work := dynamo.Open(cfg, s.Table), queue.Open(cfg, s.WorkQueue)
	sweeper := reconcile.New(reconcile.Deps{
		Events:  table,
		Queue:   work,
		Notices: queue.Open(cfg, s.DeadLetters),
		Limits:  s.Limits,
		Log:     log,
		Now:     time.Now,
	})
	live := config.NewCache(table, 5*time.Second, time.Now) // what was applied is live everywhere before a person looks
	keys := secrets.NewCache(parameters.Open(cfg, s.SecretPath), 5*time.Minute, time.Now).Log(log)
	in := intake.New(intake.Deps{
		Endpoints: live,
		Bodies:    bodies.Open(cfg, s.Bodies),
		Store:     table,
		Queue:     work,
		Limits:    s.Taking,
		Log:       log,
		Now:       time.Now,
		NewID:     rand.Text,
	})
	sources := catchup.New(catchup.Deps{
		Table:   table,
		Configs: live,
		Source:  woocommerce.New(http.DefaultClient, keys),
		Intake:  taker{in},
		Limits:  s.Asking,
		Log:     log,
		Now:     time.Now,
		NewID:   rand.Text,
	})
	return &Handler{sweeper: sweeper, sources: sources, log: log}
}

// taker is the intake as the use case sees it.
type taker struct{ intake *intake.Intake }

// Take takes what was fetched, and tells whether nobody had delivered it.
func (t taker) Take(ctx context.Context, f inbox.Fetched) (bool, error) {
	reply, err := t.intake.Take(ctx, f)
	return reply.Status == intake.Accepted, err
}
