package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/capture"
	"engang/infra/engang/diagnose"
	"engang/infra/engang/text"
	"engang/shared/certificates"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

type verifying struct {
	endpoint, provider, publicURL   string
	request, body, now, certificate string
	headers, secretFiles            []string
	entry                           int
}

func (p *program) verifyCommand() *cobra.Command {
	var v verifying
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Say why a captured delivery is not accepted",
		Long: "The capture is raw HTTP, a HAR archive, a curl command or an event of API Gateway. Where it has mangled the body, --body has the exact bytes;\n" +
			"a body alone goes with --header. What is known to go wrong is undone, one thing after the other and then two at once, until the signature fits: that is the cause.\n" +
			"It says yes or no, and never shows a secret or a signature that it has computed. With --provider and --secret-file it needs no engang at all.\n\n" +
			"The exit code is 0 for a sound delivery and 7 for one with faults.",
		Example: "  engang verify --endpoint woo-shop --request captured.http\n  engang verify --endpoint woo-shop --request captured.http --body body.json --now 2026-11-29T12:00:00Z --json\n" +
			"  engang verify --endpoint woo-shop --request captured.http --now 1795953600\n" +
			"  engang verify --endpoint woo-shop --request browser.har --entry 2\n" +
			"  engang verify --endpoint woo-shop --body body.json --header \"X-WC-Webhook-Topic: product.updated\" --header \"X-WC-Webhook-Signature: c2lnbmF0dXJl\"\n" +
			"  engang verify --provider square --public-url https://hooks.example.com/hooks/pay --request captured.http --secret-file secret.txt\n" +
			"  engang verify --provider paypal --request captured.http --secret-file secret.txt --certificate paypal.pem",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 { // it is not repeated: it may be a secret
				return usage("verify takes no argument: name the capture with --request, and the file with the secret with --secret-file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("entry") && v.entry < 1 {
				return usage("--entry counts from 1")
			}
			return p.verify(cmd.Context(), v)
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.endpoint, "endpoint", "", "endpoint that the delivery came to")
	f.StringVar(&v.request, "request", "", "file with the captured request (- for standard input)")
	f.StringVar(&v.body, "body", "", "file with the exact bytes of its body")
	f.StringArrayVar(&v.headers, "header", nil, "a header of the request, as \"Name: value\"; may be repeated")
	f.IntVar(&v.entry, "entry", 0, "which request of an archive, from 1")
	f.StringVar(&v.now, "now", "", "when it arrived: RFC 3339, unix seconds, or how long ago (default: what the capture says, else now)")
	f.StringArrayVar(&v.secretFiles, "secret-file", nil, "check with the secret in this file, not with those of the endpoint; may be repeated")
	f.StringVar(&v.provider, "provider", "", "whose delivery it is, in place of an endpoint; with --secret-file")
	f.StringVar(&v.publicURL, "public-url", "", "with --provider: the address as the sender has it")
	f.StringVar(&v.certificate, "certificate", "", "file with the certificate that the sender signs under (PEM), where there is one")
	return cmd
}

func (p *program) verify(ctx context.Context, v verifying) error {
	if err := v.check(); err != nil {
		return err
	}
	req, err := p.captured(v)
	if err != nil {
		return err
	}
	c := diagnose.Case{Request: req, Now: p.Now()}
	if !req.At.IsZero() {
		c.Now = req.At
	}
	if v.now != "" {
		if c.Now, err = arrival(v.now, p.Now()); err != nil {
			return err
		}
	}
	if c.Secrets, err = secretFiles(v.secretFiles); err != nil {
		return err
	}
	if v.provider != "" {
		c.Endpoint = control.Endpoint{Name: v.endpoint, Provider: v.provider, PublicURL: v.publicURL}
	} else if err := p.atEndpoint(ctx, v, &c); err != nil {
		return err
	}
	if c.Certificate, err = p.certificate(ctx, v, c); err != nil {
		return err
	}
	report, err := diagnose.Explain(c)
	if err != nil {
		return usage("%w", err)
	}
	if p.json {
		err = p.writeJSON(report)
	} else {
		err = report.Write(p.Stdout, p.clock())
	}
	if err == nil && !report.Sound {
		err = &failure{exitFound, errors.New("the delivery has " + text.Count(len(report.Found), "fault", "faults"))}
	}
	return err
}

var (
	unixSeconds = regexp.MustCompile(`^[0-9]{9,10}$`) // of the years 1973 to 2286
	unixMillis  = regexp.MustCompile(`^[0-9]{12,19}$`)
)

// arrival reads --now: as lists read their times, or the seconds in which senders write theirs.
func arrival(given string, now time.Time) (time.Time, error) {
	switch n, err := strconv.ParseInt(given, 10, 64); {
	case err == nil && unixSeconds.MatchString(given):
		return time.Unix(n, 0).UTC(), nil
	case unixMillis.MatchString(given):
		return time.Time{}, usage("--now: milliseconds, or finer, where seconds belong: leave out all but the first 10 digits")
	}
	at, err := text.ParseTime(given, now)
	if err != nil {
		return at, usage("--now: %w; or unix seconds (1795953600)", err)
	}
	return at, nil
}

// check refuses flags that do not go together.
func (v verifying) check() error {
	switch {
	case v.request == "" && v.body == "":
		return usage("name the captured request with --request, or its body with --body and --header")
	case v.endpoint == "" && v.provider == "":
		return usage("say with --endpoint where it came to, or with --provider and --secret-file whose it is")
	case v.provider != "" && len(v.secretFiles) == 0:
		return usage("with --provider the secret is read from --secret-file")
	case v.publicURL != "" && v.provider == "":
		return usage("--public-url goes with --provider: an endpoint has its own")
	}
	return nil
}

// captured reads the request, with the body and the headers that are given apart.
func (p *program) captured(v verifying) (capture.Request, error) {
	var req capture.Request
	if v.request != "" {
		raw, err := p.readCapture(v.request)
		if err != nil {
			return req, usage("--request: %w", err)
		}
		all, err := capture.Parse(raw)
		if err != nil {
			return req, usage("--request: %w", err)
		}
		if req, err = v.pick(all); err != nil {
			return req, err
		}
	}
	for _, given := range v.headers {
		name, value, ok := strings.Cut(given, ":")
		if !ok || strings.TrimSpace(name) == "" || strings.ContainsAny(name, " \t\r\n") {
			return req, usage("--header: write \"Name: value\"")
		}
		req.Headers = append(req.Headers, capture.Header{Name: name, Value: strings.TrimSpace(value)})
	}
	switch {
	case v.body != "":
		raw, err := p.readCapture(v.body)
		if err != nil {
			return req, usage("--body: %w", err)
		}
		req.Body, req.Text = raw, false
	case req.Elsewhere:
		return req, usage("the command has its body in another file: name that with --body")
	}
	return req, nil
}

// maxCapture is more than any delivery that is taken, in base64 and with an archive around it.
const maxCapture = 64 << 20

func (p *program) readCapture(name string) ([]byte, error) {
	from := p.Stdin
	if name != "-" {
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	if from == nil {
		return nil, errors.New("there is no standard input")
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxCapture+1))
	if err == nil && len(raw) > maxCapture {
		err = fmt.Errorf("more than %d MiB", maxCapture>>20)
	}
	return raw, err
}

// pick is the one request, that of the entry, or the only delivery to the endpoint in an archive.
func (v verifying) pick(all []capture.Request) (capture.Request, error) {
	if v.entry > len(all) {
		return capture.Request{}, usage("--entry %d: the capture has %s", v.entry, text.Count(len(all), "request", "requests"))
	}
	if v.entry > 0 {
		return all[v.entry-1], nil
	}
	if len(all) == 1 {
		return all[0], nil
	}
	var mine []int
	for i, r := range all {
		if u, err := url.Parse(r.Target); err == nil && len(r.Body) > 0 && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/hooks/"+v.endpoint) {
			mine = append(mine, i)
		}
	}
	if len(mine) != 1 {
		return capture.Request{}, usage("the capture has %d requests, %d of them with a body for /hooks/%s: say which with --entry", len(all), len(mine), v.endpoint)
	}
	return all[mine[0]], nil
}

func secretFiles(names []string) ([]diagnose.Secret, error) {
	var all []diagnose.Secret
	for _, name := range names {
		value, err := secretFile(name)
		if why, ok := errors.AsType[*fs.PathError](err); ok { // not by its name, which may be a secret in the wrong place
			return nil, usage("--secret-file: the file named there (%s): %w; a secret is never an argument", lengthOf(name), why.Err)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, diagnose.Secret{Name: filepath.Base(name), Value: value})
	}
	return all, nil
}

// atEndpoint adds what the live endpoint knows: how it is configured, its secrets and those around them.
func (p *program) atEndpoint(ctx context.Context, v verifying, c *diagnose.Case) error {
	if len(c.Secrets) > 0 {
		conn, err := p.connect(ctx)
		if err != nil {
			return err
		}
		c.Endpoint, err = conn.Endpoint(ctx, v.endpoint)
		return p.explain(err)
	}
	d, err := p.openDesk(ctx)
	if err != nil {
		return err
	}
	if c.Endpoint, err = d.c.Endpoint(ctx, v.endpoint); err != nil {
		return p.explain(fmt.Errorf("endpoint %s: %w", v.endpoint, err))
	}
	at := slot{endpoint: &c.Endpoint}
	folders := map[string]bool{}
	for _, path := range at.named() {
		folders[folder(path)] = true
		if value := d.held[path]; !value.IsEmpty() {
			c.Secrets = append(c.Secrets, diagnose.Secret{Name: path, Value: value})
		}
	}
	c.Others, err = d.others(ctx, at, folders)
	return err
}

// others are the secrets of the tenant's other endpoints, and those that stand beside the endpoint's own
// without being named.
func (d *desk) others(ctx context.Context, at slot, own map[string]bool) ([]diagnose.Secret, error) {
	var all []diagnose.Secret
	owners := map[string]*control.Endpoint{}
	for _, path := range sortedPaths(d.held) {
		if slices.Contains(at.endpoint.Secrets, "ssm:"+path) {
			continue
		}
		if own[folder(path)] {
			all = append(all, diagnose.Secret{Name: path, Value: d.held[path]})
			continue
		}
		owner, asked := owners[folder(path)]
		if !asked {
			var err error
			if owner, err = d.ofAnybody(ctx, folder(path)); err != nil {
				return nil, err
			}
			owners[folder(path)] = owner
		}
		if owner != nil && owner.Tenant == at.endpoint.Tenant {
			all = append(all, diagnose.Secret{Name: path, Value: d.held[path], Owner: owner})
		}
	}
	return all, nil
}

func sortedPaths(held map[string]secrets.Value) []string {
	paths := make([]string, 0, len(held))
	for path := range held {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// certificate is what the sender signs under: from a file, of the local system's own making, or from the
// sender's address. Where it cannot be had, the report says so.
func (p *program) certificate(ctx context.Context, v verifying, c diagnose.Case) ([]byte, error) {
	if v.certificate != "" {
		raw, err := os.ReadFile(filepath.Clean(v.certificate))
		if err != nil {
			return nil, usage("--certificate: %w", err)
		}
		return raw, nil
	}
	scheme, err := diagnose.SchemeOf(c.Endpoint)
	if err != nil {
		return nil, usage("%w", err)
	}
	if v.provider == "" && p.deployed == nil {
		return scheme.TrialCertificate(), nil // on this machine nobody signs as the sender does
	}
	ctx, cancel := context.WithTimeout(ctx, min(p.timeout, 10*time.Second))
	defer cancel()
	req := webhook.Request{Method: c.Request.Method, Header: c.Request.Header(), Body: c.Request.Body}
	raw, err := certificates.New(p.HTTP, nil, p.Now).Certificate(ctx, scheme, req)
	if err != nil {
		return nil, nil // not had: the report has it
	}
	return raw, nil
}
