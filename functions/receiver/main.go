// Receiver takes webhooks over HTTP: it verifies a delivery, stores the event, enqueues a reference to
// it and answers.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"engang/functions/receiver/handler"
	"engang/shared/telemetry"
)

func main() {
	h, err := build(context.Background())
	if err != nil {
		slog.New(slog.NewJSONHandler(os.Stderr, nil)).Error("init failed", "function", "receiver", "err", err)
		os.Exit(1)
	}
	lambda.Start(h.Handle)
}

func build(ctx context.Context) (*handler.Handler, error) {
	s, err := handler.SettingsFromEnv()
	if err != nil {
		return nil, err
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	log := telemetry.NewLogger(os.Stdout, telemetry.Process{Function: "receiver", Deployed: os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), Level: s.Level})
	return handler.New(s, cfg, log), nil
}
