// Command five_calls makes five calls with the client that openapi-generator makes as go, as it is: five_calls URL API_KEY.
package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"strings"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func signChallenge(did, secret, challenge string) string {
	number := new(big.Int)
	for _, digit := range secret[1:] {
		number.Mul(number, big.NewInt(58)).Add(number, big.NewInt(int64(strings.IndexRune(alphabet, digit))))
	}
	decoded := number.FillBytes(make([]byte, 64))
	signature := ed25519.Sign(ed25519.NewKeyFromSeed(decoded[32:]), []byte(challenge))
	return base64.StdEncoding.EncodeToString([]byte(did + "." + base64.RawURLEncoding.EncodeToString(signature)))
}

func must[T any](answer T, _ *http.Response, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func connect(scheme, text string) context.Context {
	return context.WithValue(context.Background(), client.ContextAPIKeys, map[string]client.APIKey{scheme: {Key: text}})
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1] + "/api/v1"}}
	api := client.NewAPIClient(configuration)
	operator := connect("ApiKeyHeader", os.Args[2])
	wanted := client.CreateDidRequest{Method: "ids", KeyType: client.PtrString("Ed25519")}
	created := must(api.DidsAPI.CreateDid(operator).CreateDidRequest(wanted).Execute())
	did := created.Did
	fmt.Println("created", did)
	resolved := must(api.DidsAPI.ResolveDid(operator, did).Execute())
	fmt.Println("resolved", map[bool]string{true: "True", false: "False"}[resolved.DidDocument.Id == did])
	challenge := must(api.AuthAPI.GetDidAuthChallenge(operator).Did(did).Execute())
	signed := signChallenge(did, created.Keys.Authentication.GetPrivateKey(), challenge.Challenge)
	service := client.NewServiceInput("agent", "AgentService", "https://agent.example/")
	change := client.UpdateDidRequest{Operation: client.PtrString("addService"), Service: service}
	updated := must(api.DidsAPI.UpdateDid(connect("DidAuth", "DIDAuth "+signed), did).UpdateDidRequest(change).Execute())
	fmt.Println("updated", updated.VersionId)
	fmt.Println("history", len(must(api.DidsAPI.ListDidHistory(operator, did).Execute()).Items))
	fmt.Println("health", must(api.ServiceAPI.GetHealth(operator).Execute()).Status)
}
