// Command validating_proxy passes requests on to a server, and checks them and the answers by a document: validating_proxy DOCUMENT URL.
//
// It prints its own URL, and then a line for each answer: the operation and the status, or what contradicts the document.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// checked is the key of a request and of what contradicts the document in it.
type checked struct{}

type request struct {
	input *openapi3filter.RequestValidationInput
	fault error
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	return value
}

// readBody returns a body and a copy of it.
func readBody(body io.ReadCloser) ([]byte, io.ReadCloser) {
	data := must(io.ReadAll(body))
	return data, io.NopCloser(bytes.NewReader(data))
}

func main() {
	// An untyped schema allows null (OpenAPI 3.0.3); this library refuses the example of it.
	document := must(openapi3.NewLoader().LoadFromFile(os.Args[1]))
	if err := document.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		must(0, err)
	}
	openapi3filter.RegisterBodyDecoder("application/did+ld+json", openapi3filter.RegisteredBodyDecoder("application/json"))
	server := must(url.Parse(os.Args[2]))
	document.Servers = openapi3.Servers{{URL: "/api/v1"}, {URL: "/"}}
	router := must(gorillamux.NewRouter(document))
	proxy := httputil.NewSingleHostReverseProxy(server)
	proxy.ModifyResponse = func(response *http.Response) error {
		asked := response.Request.Context().Value(checked{}).(request)
		name := asked.input.Route.Operation.OperationID
		var data []byte
		data, response.Body = readBody(response.Body)
		// This version reads numbers in headers as text.
		header := http.Header{"Content-Type": response.Header["Content-Type"]}
		answer := &openapi3filter.ResponseValidationInput{
			RequestValidationInput: asked.input, Status: response.StatusCode, Header: header,
			Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
		}
		answer.SetBodyBytes(data)
		if err := openapi3filter.ValidateResponse(response.Request.Context(), answer); err != nil {
			fmt.Printf("error: answer of %s %d: %.150s\n", name, response.StatusCode, err)
		} else if asked.fault != nil && response.StatusCode < 400 {
			fmt.Printf("error: accepted request of %s: %.150s\n", name, asked.fault)
		} else {
			fmt.Println(name, response.StatusCode)
		}
		return nil
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("http://%s\n", listener.Addr())
	must(0, http.Serve(listener, http.HandlerFunc(func(writer http.ResponseWriter, received *http.Request) {
		route, variables, err := router.FindRoute(received)
		if err != nil {
			fmt.Println("error:", received.Method, received.URL, err)
			http.Error(writer, err.Error(), http.StatusNotFound)
			return
		}
		input := &openapi3filter.RequestValidationInput{
			Request: received, PathParams: variables, Route: route,
			Options: &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		}
		asked := request{input, openapi3filter.ValidateRequest(received.Context(), input)}
		proxy.ServeHTTP(writer, received.WithContext(context.WithValue(received.Context(), checked{}, asked)))
	})))
}
