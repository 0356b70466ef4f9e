package handler

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"engang/shared/bodies"
	"engang/shared/certificates"
	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/intake"
	"engang/shared/parameters"
	"engang/shared/queue"
	"engang/shared/secrets"
	"engang/shared/settings"
)

// maxBody is the most that MAX_BODY_BYTES may say: Lambda takes 6 MB a request, and base64 adds a third.
const maxBody = 4 << 20

// Settings is all that the function is told by its environment.
type Settings struct {
	Table      string
	WorkQueue  string // URL
	Bodies     string // bucket
	SecretPath string
	Level      slog.Level
	Limits     intake.Limits // the zero ones are the usual ones
	ConfigTTL  time.Duration // how long applied configuration is believed
	SecretTTL  time.Duration
	Signers    intake.Certificates // nil: fetched from the senders; a local system has its own
	Now        func() time.Time    // of deliveries; nil: the clock
}

// SettingsFromEnv reads the settings, and reports all faults at once.
func SettingsFromEnv() (Settings, error) {
	r := settings.FromEnv()
	limits := intake.UsualLimits
	limits.Body = r.Int("MAX_BODY_BYTES", limits.Body, maxBody)
	limits.OpenAge = r.Seconds("OPEN_AGE_SECONDS", limits.OpenAge)
	s := Settings{
		Table:      r.TableName("TABLE_NAME"),
		WorkQueue:  r.URL("WORK_QUEUE_URL"),
		Bodies:     r.Text("BODIES_BUCKET"),
		SecretPath: r.SecretPath("SECRET_PATH"),
		Level:      r.Level("LOG_LEVEL"),
		Limits:     limits,
		ConfigTTL:  5 * time.Second, // what was applied is live everywhere before a person looks
		SecretTTL:  5 * time.Minute,
	}
	return s, r.Err()
}

// New wires the function. Nothing is called yet.
func New(s Settings, cfg aws.Config, log *slog.Logger) *Handler {
	table := dynamo.Open(cfg, s.Table)
	signers, now := s.Signers, s.Now
	if now == nil {
		now = time.Now
	}
	if signers == nil {
		signers = certificates.New(http.DefaultClient, nil, time.Now)
	}
	return Over(intake.New(intake.Deps{
		Endpoints: config.NewCache(table, s.ConfigTTL, time.Now),
		Vault:     secrets.NewCache(parameters.Open(cfg, s.SecretPath), s.SecretTTL, time.Now).Log(log),
		Signers:   signers,
		Bodies:    bodies.Open(cfg, s.Bodies),
		Store:     table,
		Queue:     queue.Open(cfg, s.WorkQueue),
		Limits:    s.Limits,
		Log:       log,
		Now:       now,
		NewID:     rand.Text,
		Listeners: table,
	}), log)
}
