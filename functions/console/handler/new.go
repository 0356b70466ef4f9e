package handler

import (
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/dynamo"
	"engang/shared/queue"
	"engang/shared/recipe/compiled"
	"engang/shared/settings"
)

// Settings is all that the function is told by its environment.
type Settings struct {
	Table       string
	Bodies      string        // bucket
	WorkQueue   string        // URL
	DeadLetters string        // URL
	OpenAge     time.Duration // after which the reconciler sends an event that was opened again
	Version     string        // what was deployed
	Level       slog.Level
}

// SettingsFromEnv reads the settings, and reports all faults at once.
func SettingsFromEnv() (Settings, error) {
	r := settings.FromEnv()
	s := Settings{
		Table:       r.TableName("TABLE_NAME"),
		Bodies:      r.Text("BODIES_BUCKET"),
		WorkQueue:   r.URL("WORK_QUEUE_URL"),
		DeadLetters: r.URL("WORK_DEAD_LETTER_QUEUE_URL"),
		OpenAge:     r.Seconds("OPEN_AGE_SECONDS", 300*time.Second), // as the receiver's: slow is not lost
		Version:     r.TextOr("VERSION", "dev"),
		Level:       r.Level("LOG_LEVEL"),
	}
	return s, r.Err()
}

// New wires the function. Nothing is called yet.
func New(s Settings, cfg aws.Config, log *slog.Logger) *Handler {
	table, kept := dynamo.Open(cfg, s.Table), bucket{bodies.Open(cfg, s.Bodies)}
	return Over(control.New(control.Deps{
		Store:     store{table},
		Endpoints: endpoints{config.NewRecipes(config.NewCache(table, 0, time.Now), compiled.New)}, // who has just applied looks at once
		Configs:   configs{table},
		Bodies:    kept,
		Eraser:    eraser{table},
		Shredder:  kept,
		Work:      work{queue.Open(cfg, s.WorkQueue)},
		Letters:   letters{queue.Open(cfg, s.DeadLetters)},
		OpenAge:   s.OpenAge,
		Now:       time.Now,
		NewID:     rand.Text,
	}), s.Version, log)
}
