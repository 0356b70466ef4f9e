package architecture_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"engang/infra/local/cloudformation"
)

// The rules hold for the template as it is written and for what SAM makes of it: these readers know both forms.

const (
	lambdaType  = "AWS::Lambda::Function"
	mappingType = "AWS::Lambda::EventSourceMapping"
	apiType     = "AWS::ApiGatewayV2::Api"
)

// lambdas lists the functions.
func lambdas(tpl *cloudformation.Template) []string {
	all := slices.Concat(tpl.OfType(functionType), tpl.OfType(lambdaType))
	slices.Sort(all)
	return all
}

// unquoted is the logical id in what [cloudformation.Symbols] makes of a reference.
func unquoted(v any) string {
	return strings.TrimSuffix(strings.Trim(fmt.Sprint(v), "<>"), ".Arn")
}

// A feed is a queue that a function works on.
type feed struct {
	function, queue string
	size, window    int
	partial         bool // it reports which messages of a batch failed
	concurrency     int
}

// feeds lists the event sources that are queues.
func feeds(tpl *cloudformation.Template) []feed {
	r := reader{tpl}
	var all []feed
	for _, f := range tpl.OfType(functionType) {
		for _, e := range r.events(f, "SQS") {
			all = append(all, feedOf(f, unquoted(e["Queue"]), e))
		}
	}
	for _, id := range tpl.OfType(mappingType) {
		all = append(all, feedOf(unquoted(r.any(id, "FunctionName")), unquoted(r.any(id, "EventSourceArn")), map[string]any{
			"BatchSize": r.any(id, "BatchSize"), "MaximumBatchingWindowInSeconds": r.any(id, "MaximumBatchingWindowInSeconds"),
			"FunctionResponseTypes": r.any(id, "FunctionResponseTypes"), "ScalingConfig": r.any(id, "ScalingConfig"),
		}))
	}
	return all
}

func feedOf(function, queue string, properties map[string]any) feed {
	number := func(v any) int { n, _ := strconv.Atoi(fmt.Sprint(v)); return n }
	scaling, _ := properties["ScalingConfig"].(map[string]any)
	return feed{
		function: function, queue: queue, size: number(properties["BatchSize"]), window: number(properties["MaximumBatchingWindowInSeconds"]),
		partial: slices.Contains(cloudformation.Texts(properties["FunctionResponseTypes"]), "ReportBatchItemFailures"), concurrency: number(scaling["MaximumConcurrency"]),
	}
}

// A route is a path of the HTTP API.
type route struct {
	function, path string
	wait           int // of the gateway for the function, in ms
	iam            bool
}

var integrated = regexp.MustCompile(`/functions/<([A-Za-z0-9]+)\.Arn>/`)

// routes lists the paths of the HTTP API.
func routes(tpl *cloudformation.Template) []route {
	r := reader{tpl}
	var all []route
	for _, f := range tpl.OfType(functionType) {
		for _, e := range r.events(f, "HttpApi") {
			wait, _ := strconv.Atoi(fmt.Sprint(e["TimeoutInMillis"]))
			auth, _ := e["Auth"].(map[string]any)
			all = append(all, route{f, fmt.Sprint(e["Path"]), wait, auth["Authorizer"] == "AWS_IAM"})
		}
	}
	for _, id := range tpl.OfType(apiType) {
		paths, _ := r.any(id, "Body", "paths").(map[string]any)
		for path, methods := range paths {
			methods, _ := methods.(map[string]any)
			for _, m := range methods {
				all = append(all, routeOf(path, m))
			}
		}
	}
	return all
}

func routeOf(path string, method any) route {
	m, _ := method.(map[string]any)
	integration, _ := m["x-amazon-apigateway-integration"].(map[string]any)
	wait, _ := strconv.Atoi(fmt.Sprint(integration["timeoutInMillis"]))
	to := route{path: path, wait: wait, iam: strings.Contains(fmt.Sprint(m["security"]), "AWS_IAM")}
	if f := integrated.FindStringSubmatch(fmt.Sprint(integration["uri"])); f != nil {
		to.function = f[1]
	}
	return to
}
