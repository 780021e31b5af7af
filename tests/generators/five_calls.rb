# Five calls with the client that openapi-generator makes as ruby, as it is: ruby -I CLIENT/lib five_calls.rb URL API_KEY.
# frozen_string_literal: true

require "openssl"
require "openapi_client"

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
PKCS8_OF_ED25519 = "302e020100300506032b657004220420"

def sign_challenge(did, secret, challenge)
  number = secret[1..].chars.reduce(0) { |sum, digit| (sum * 58) + ALPHABET.index(digit) }
  seed = format("%0128x", number)[-64..]
  key = OpenSSL::PKey.read([PKCS8_OF_ED25519 + seed].pack("H*"))
  signature = [key.sign(nil, challenge)].pack("m0").tr("+/", "-_").delete("=")
  ["#{did}.#{signature}"].pack("m0")
end

def connect(url, header, text)
  configuration = OpenapiClient::Configuration.new
  configuration.scheme, configuration.host = url.split("://")
  configuration.base_path = "/api/v1"
  configuration.api_key[header] = text
  OpenapiClient::ApiClient.new(configuration)
end

url, api_key = ARGV
operator = connect(url, "X-API-Key", api_key)
dids = OpenapiClient::DidsApi.new(operator)
created = dids.create_did(OpenapiClient::CreateDidRequest.new(method: "ids", key_type: "Ed25519"))
did = created.did
puts "created #{did}"
puts "resolved #{dids.resolve_did(did).did_document.id == did ? "True" : "False"}"
challenge = OpenapiClient::AuthApi.new(operator).get_did_auth_challenge(did).challenge
signed = sign_challenge(did, created.keys.authentication.private_key, challenge)
holder = OpenapiClient::DidsApi.new(connect(url, "Authorization", "DIDAuth #{signed}"))
service = OpenapiClient::ServiceInput.new(id: "agent", type: "AgentService", service_endpoint: "https://agent.example/")
change = OpenapiClient::UpdateDidRequest.new(operation: "addService", service: service)
puts "updated #{holder.update_did(did, change).version_id}"
puts "history #{dids.list_did_history(did).items.length}"
puts "health #{OpenapiClient::ServiceApi.new(operator).get_health.status}"
