// Receiver takes webhooks over HTTP: it verifies a delivery, stores the event, enqueues a reference to
// it and answers.
package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"engang/functions/receiver/handler"
	"engang/shared/settings"
	"engang/shared/telemetry"
)

func main() {
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
