package handler

import (
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"engang/shared/dynamo"
	"engang/shared/queue"
	"engang/shared/reconcile"
	"engang/shared/settings"
)

// Settings is all that the function is told by its environment.
type Settings struct {
	Table       string
	WorkQueue   string // URL
	DeadLetters string // URL
	Level       slog.Level
	Limits      reconcile.Limits
}

// SettingsFromEnv reads the settings, and reports all faults at once.
func SettingsFromEnv() (Settings, error) {
	r := settings.FromEnv()
	s := Settings{
		Table:       r.Text("TABLE_NAME"),
		WorkQueue:   r.URL("WORK_QUEUE_URL"),
		DeadLetters: r.URL("WORK_DEAD_LETTER_QUEUE_URL"),
		Level:       r.Level("LOG_LEVEL"),
		Limits: reconcile.Limits{
			Age:     r.Seconds("OPEN_AGE_SECONDS", 300*time.Second), // above worker timeout 120 + lease 100 + skew 5
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
	sweeper := reconcile.New(reconcile.Deps{
		Events:  dynamo.Open(cfg, s.Table),
		Queue:   queue.Open(cfg, s.WorkQueue),
		Notices: queue.Open(cfg, s.DeadLetters),
		Limits:  s.Limits,
		Log:     log,
		Now:     time.Now,
	})
	return &Handler{sweeper: sweeper, log: log}
}
