package settings

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// The times after which a connection is not believed in any more. A connection that is dead does not say so: an
// environment that was frozen wakes up to it, or a network drops everything.
const (
	idleTime   = 30 * time.Second       // unused; the SDK's own client has three times that
	answerTime = 800 * time.Millisecond // until an answer begins: with the SDK's first pause of up to a second, a second try still fits into the two seconds in which a receiver stores
)

func impatient(t *http.Transport) { t.IdleConnTimeout, t.ResponseHeaderTimeout = idleTime, answerTime }

// AWS is how a function reaches AWS: the region and the role's credentials, which Lambda sets in the environment of
// every function, and for tests and a local system the address that stands in its place (AWS_ENDPOINT_URL). One
// HTTP client is for all clients that are made of it. Nothing is called, and no file is read.
//
// That client does not wait for ever: a try whose answer has not begun after 800 ms is given up, and the SDK makes
// another one, as for every call that got no answer. A call that is meant to wait longer says so itself.
//
// The rest is as the SDK's own loader has it where nothing else is set; profiles, files, metadata and the other
// places where a program can find credentials are not looked at. That loader brings all their clients along, which
// cost a start more than our own code does.
func (r *Reader) AWS() aws.Config {
	role := aws.Credentials{
		AccessKeyID:     r.Text("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: r.Text("AWS_SECRET_ACCESS_KEY"),
		SessionToken:    r.TextOr("AWS_SESSION_TOKEN", ""),
		Source:          "environment",
	}
	cfg := aws.Config{
		Region:                      r.region("AWS_REGION"),
		Credentials:                 aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return role, nil }),
		HTTPClient:                  awshttp.NewBuildableClient().WithTransportOptions(impatient),
		DefaultsMode:                aws.DefaultsModeLegacy,
		AccountIDEndpointMode:       aws.AccountIDEndpointModePreferred,
		RequestChecksumCalculation:  aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation:  aws.ResponseChecksumValidationWhenSupported,
		RequestMinCompressSizeBytes: 10 << 10,
	}
	if _, set := r.value("AWS_ENDPOINT_URL"); set {
		cfg.BaseEndpoint = aws.String(r.URL("AWS_ENDPOINT_URL"))
	}
	return cfg
}
