module identity-service-client

go 1.19
