package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/infra/engang/program"
	"engang/shared/control"
)

// command runs one command of the operator program against the system, as ann, and returns its exit code.
func (s *system) command(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, err bytes.Buffer
	code = program.Run(s.t.Context(), program.Env{
		Args: append(args, "--target", s.URL(), "--as", "ann"), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err,
		Getenv: func(string) string { return "" }, Now: time.Now, HTTP: client, Command: "engang", Version: "test",
	})
	return code, out.String(), err.String()
}

// done runs a command that must end well, and reads what it writes with --json.
func (s *system) done(into any, args ...string) {
	s.t.Helper()
	code, stdout, stderr := s.command(append(args, "--json")...)
	if code != 0 {
		s.t.Fatalf("engang %s: exit %d %s", strings.Join(args, " "), code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		s.t.Fatalf("engang %s: %s: %v", strings.Join(args, " "), stdout, err)
	}
}

// exits demands an exit code and a text on stderr.
func (s *system) exits(code int, says string, args ...string) {
	s.t.Helper()
	if got, _, stderr := s.command(args...); got != code || !strings.Contains(stderr, says) {
		s.t.Errorf("engang %s: exit %d, want %d: %s", strings.Join(args, " "), got, code, stderr)
	}
}

// letters are the dead letters as the program lists them, by the event of each.
func (s *system) letters() map[string]control.Letter {
	s.t.Helper()
	var list control.List[control.Letter]
	s.done(&list, "dlq")
	all := map[string]control.Letter{}
	for _, l := range list.Items {
		all[l.Event] = l
	}
	return all
}

// lay puts a message into the dead-letter queue, as the queue's redrive policy does.
func (s *system) lay(body string) {
	s.t.Helper()
	address := s.QueueURL("WorkDeadLetterQueue")
	if _, err := s.SQS().SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &address, MessageBody: &body}); err != nil {
		s.t.Fatal(err)
	}
}

// whole is a message with everything that comes with it, as text.
func whole(m sqstypes.Message) string {
	text := *m.Body
	for name, a := range m.MessageAttributes {
		text += "\n" + name + " " + *a.StringValue
	}
	return text
}

// records are the acts of ann that were recorded, as "act of target because reason".
func (s *system) records() (acts []string) {
	s.t.Helper()
	for _, i := range s.items() {
		if strings.HasPrefix(i["pk"], "A#") && strings.HasSuffix(i["by"], "ann") {
			acts = append(acts, fmt.Sprintf("%s of %s because %s", i["act"], i["target"], i["note"]))
			if i["expires_at"] == "" {
				s.t.Errorf("a record without an end: %v", i)
			}
		}
	}
	return acts
}

// post asks the API for an act, and returns the status and the document.
func (s *system) post(path, body string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("X-Engang-As", "ann")
	return s.send(r)
}

// returned makes letters visible again that were received.
func (s *system) returned(letters []sqstypes.Message) []sqstypes.Message {
	s.t.Helper()
	address := s.QueueURL("WorkDeadLetterQueue")
	for _, m := range letters {
		if _, err := s.SQS().ChangeMessageVisibility(s.t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &address, ReceiptHandle: m.ReceiptHandle}); err != nil {
			s.t.Fatal(err)
		}
	}
	return letters
}
