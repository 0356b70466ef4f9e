// Receiver takes webhooks over HTTP: it verifies a delivery, stores the event, enqueues a reference to
// it and answers.
package main

import (
	"errors"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda"

	"engang/functions/receiver/handler"
	"engang/shared/settings"
	"engang/shared/telemetry"
)

// garbage is how much of what lives may come on top of it before it is collected, in per cent. A few megabytes live, of
// the 512 that the function has.
const garbage = 400

func main() {
	debug.SetGCPercent(garbage)
	h, err := build()
	if err != nil {
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Error("init failed", "function", "receiver", "err", err)
		os.Exit(1)
	}
	lambda.Start(h)
}

func build() (*handler.Handler, error) {
	s, err := handler.SettingsFromEnv()
	r := settings.FromEnv()
	cfg := r.AWS()
	if err := errors.Join(err, r.Err()); err != nil {
		return nil, err
	}
	log := telemetry.NewLogger(os.Stdout, telemetry.Process{Function: "receiver", Deployed: os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), Level: s.Level})
	return handler.New(s, cfg, log), nil
}
