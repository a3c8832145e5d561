// Generated from the OpenAPI document by npm run client:types; a test compares it.

export interface paths {
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List events, newest first */
        get: operations["listEvents"];
        put?: never;
        /**
         * Publish an event
         * @description Stored durably when it is answered with 202. An `Idempotency-Key` header counts as the event’s `idempotencyKey`; `sagapost-correlation-id` and `traceparent` are kept with the event.
         */
        post: operations["publishEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish up to 1,000 events
         * @description Answered item by item, in order; one bad item does not stop the rest. With an `Idempotency-Key` header, items without a key of their own get `<header>[<index>]`, so that the same batch can be sent again.
         */
        post: operations["publishEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/set-aside": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events that the database refuses to route, newest first
         * @description They hold up no other event. Once the cause is gone, `sagapost events requeue` routes them.
         */
        get: operations["listSetAsideEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One event with its payload and deliveries
         * @description By its id or its webhookId. A webhookId of another event that once had the same id: 404.
         */
        get: operations["getEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List subscriptions, newest first */
        get: operations["listSubscriptions"];
        put?: never;
        /**
         * Subscribe a callback to a type of events
         * @description The answer has the signing secret, this once. Nothing is sent before it is verified. With an `Idempotency-Key`, the same request again gets the same answer.
         */
        post: operations["createSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One subscription, also after its deletion */
        get: operations["getSubscription"];
        put?: never;
        post?: never;
        /**
         * End a subscription, for good
         * @description Final, and repeatable. Open deliveries end as dead letters with `subscription_deleted`, and nothing more is sent; it stays readable with `deletedAt`.
         */
        delete: operations["deleteSubscription"];
        options?: never;
        head?: never;
        /**
         * Change what is given and leave the rest
         * @description Another `callbackUrl` clears `verified` and `active`. `active: true` needs a verification. Open deliveries of an inactive subscription are held until it is active again.
         */
        patch: operations["changeSubscription"];
        trace?: never;
    };
    "/v1/subscriptions/{id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask the callback’s owner, and activate the subscription if they agree
         * @description A signed request with a challenge, which the callback must repeat. It makes nothing: ask again at will.
         */
        post: operations["verifySubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a signed request at once
         * @description To a subscription in any state. No event and no delivery is made.
         */
        post: operations["testSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a new signing secret
         * @description The previous one signs along until `previousExpiresAt`. With an `Idempotency-Key`, the same request again gets the same secret.
         */
        post: operations["rotateSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries, newest first
         * @description A page may be shorter than its limit, even empty, and still have a nextCursor.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One delivery with its attempts, oldest first */
        get: operations["getDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a delivery
         * @description Answers 202 with the delivery in its current state. It ends as a dead letter with `cancelled`, which can be requeued. A request in flight is not called back; if it succeeds, the delivery completes. Repeatable without an Idempotency-Key.
         */
        post: operations["cancelDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List dead letters, newest first */
        get: operations["listDeadLetters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One dead letter with the payload as it was */
        get: operations["getDeadLetter"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/{id}/requeue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver the event to the subscription again
         * @description A new delivery: 201. Asked again: 200 and the same delivery, so it needs no Idempotency-Key.
         */
        post: operations["requeueDeadLetter"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dead-letters/requeue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Requeue every dead letter that a filter finds
         * @description By a saga, which the part `sagas` runs: GET /v1/sagas/{id} shows its progress in `steps[0].progress`, POST /v1/sagas/{id}/cancel ends it; what was requeued by then stays so. What dies later is not among it. With an `Idempotency-Key`, the same request again gets the same saga.
         */
        post: operations["requeueDeadLetters"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sagas, newest first
         * @description A page may be shorter than its limit and still have a nextCursor.
         */
        get: operations["listSagas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One saga with its steps and its history */
        get: operations["getSaga"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a saga and undo what it has done
         * @description It is asked to: 202, and the saga as it is now. Asked again: the same.
         */
        post: operations["cancelSaga"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sagas/{id}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say what becomes of a saga that waits for an operator
         * @description Of a Failed one whose undo failed, or, with `skip`, of a Running one with a step that waits for what does not come.
         */
        post: operations["resolveSaga"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/signals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a signal to the sagas that wait for it, now or later
         * @description Kept until `expiresAt`. The first one of a name and key counts: the same again is answered with `duplicate: true`, another payload with 409.
         */
        post: operations["sendSignal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What was published and delivered, point by point, oldest first
         * @description An hour by the minute, or a day by ten minutes. Counts are written every two seconds.
         */
        get: operations["readStatistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/statistics/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How the endpoints of subscriptions have fared within the last hour */
        get: operations["readEndpointHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/system": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Processes with their leases, sizes, use of indexes, slow statements */
        get: operations["describeSystem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What happens now, every two seconds, for as long as the connection lasts
         * @description Server-sent events, each with a snapshot as JSON: rates, percentiles, backlogs and what needs attention. The dashboard is made of them, and they may change with it; for programs, `/metrics` and `/v1/statistics` stay as they are.
         */
        get: operations["watchSystem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Is the process alive? */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Can it take work? */
        get: operations["readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics, as Prometheus reads them */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        NewEvent: {
            /**
             * @description 1 to 100 characters of A–Z, a–z, 0–9, _, . and -
             * @example order.placed
             */
            type: string;
            /**
             * @description any JSON; stored, signed and sent byte for byte as it stands in the request
             * @example {
             *       "orderId": 7
             *     }
             */
            payload: unknown;
            /** @description the same key again stores nothing new */
            idempotencyKey?: string;
        };
        EventReceipt: {
            /** @example 1042 */
            id: string;
            /**
             * @description what receivers get as webhook-id: the same for every attempt and requeue, and no other event’s
             * @example evt_1042_hfd2trxwlc
             */
            webhookId: string;
            /** @example order.placed */
            type: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /** @description true: the key was known, and this is the first one’s answer */
            duplicate: boolean;
        };
        ItemError: {
            error: {
                code: string;
                detail: string;
            };
        };
        Attempt: {
            /** @example 1042 */
            id: string;
            /** @enum {string} */
            status: "Pending" | "Leased" | "Completed" | "Failed";
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            attemptAt: string;
            workerId: string | null;
            responseStatus: number | null;
            errorCode: string | null;
            durationMs: number | null;
            responseExcerpt: string | null;
            /** @description when its worker’s lease ends; null unless it is Leased */
            leaseUntil: string | null;
            /** @description how often a lease on it was lost */
            leaseResets: number;
            finishedAt: string | null;
        };
        Delivery: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            eventId: string;
            /** @description of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @enum {string} */
            status: "Pending" | "InProgress" | "PendingRetry" | "Completed" | "DeadLettered";
            attemptCount: number;
            nextAttemptAt: string | null;
            finalErrorCode: string | null;
            /** @description the dead letter that it was made from */
            requeuedFrom: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
        };
        DeliveryWithAttempts: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            eventId: string;
            /** @description of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @enum {string} */
            status: "Pending" | "InProgress" | "PendingRetry" | "Completed" | "DeadLettered";
            attemptCount: number;
            nextAttemptAt: string | null;
            finalErrorCode: string | null;
            /** @description the dead letter that it was made from */
            requeuedFrom: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            attempts: components["schemas"]["Attempt"][];
        };
        Event: {
            /** @example 1042 */
            id: string;
            /**
             * @description what receivers get as webhook-id: the same for every attempt and requeue, and no other event’s
             * @example evt_1042_hfd2trxwlc
             */
            webhookId: string;
            /** @example order.placed */
            type: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            correlationId: string | null;
        };
        SetAsideEvent: {
            /** @example 1042 */
            eventId: string;
            /** @example order.placed */
            type: string;
            correlationId: string | null;
            /** @description a code of this API’s errors, or the SQLSTATE */
            errorCode: string;
            /** @description what the database said */
            reason: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            setAsideAt: string;
        };
        EventWithPayload: {
            /** @example 1042 */
            id: string;
            /**
             * @description what receivers get as webhook-id: the same for every attempt and requeue, and no other event’s
             * @example evt_1042_hfd2trxwlc
             */
            webhookId: string;
            /** @example order.placed */
            type: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            correlationId: string | null;
            /** @description newest first, at most 200 */
            deliveries: components["schemas"]["Delivery"][];
            /** @description for GET /v1/deliveries?eventId=, when there are more */
            deliveriesNextCursor: string | null;
            /** @description byte for byte as it was published */
            payload: unknown;
            /**
             * @description the payload is larger than 16 MiB: it is kept, null is shown, and it is never sent
             * @constant
             */
            payloadTooLarge?: true;
        };
        NewSubscription: {
            /** @example order.placed */
            eventType: string;
            /** @example https://receiver.example/hooks */
            callbackUrl: string;
            /** @description 1 to 100; null: the default */
            maxAttempts?: number | null;
            /**
             * @description sent with every delivery
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers?: {
                [key: string]: string;
            };
            /**
             * @description v1: HMAC-SHA256; v1a: ed25519
             * @enum {string}
             */
            scheme?: "v1" | "v1a";
        };
        SubscriptionChange: {
            /** @example order.placed */
            eventType?: string;
            /**
             * @description another URL clears verified and active
             * @example https://receiver.example/hooks
             */
            callbackUrl?: string;
            active?: boolean;
            /** @description 1 to 100; null: the default */
            maxAttempts?: number | null;
            /**
             * @description sent with every delivery
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers?: {
                [key: string]: string;
            };
        };
        Breaker: {
            /**
             * @description open: paused, but for a probe now and then; exhausted: the pause is over, and it fails on
             * @enum {string}
             */
            state: "failing" | "open" | "exhausted";
            /** @description in a row */
            failures: number;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            failingSince: string;
            lastErrorCode: string | null;
            openedAt: string | null;
            pausedUntil: string | null;
            nextProbeAt: string | null;
        };
        Subscription: {
            /** @example 1042 */
            id: string;
            /** @example order.placed */
            eventType: string;
            /** @example https://receiver.example/hooks */
            callbackUrl: string;
            active: boolean;
            verified: boolean;
            maxAttempts: number | null;
            /**
             * @description for keys that may not change subscriptions, their values are hidden
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            deletedAt: string | null;
            deactivationReason: string | null;
            /** @description null: the last delivery succeeded, or there was none */
            breaker: components["schemas"]["Breaker"] | null;
        };
        CreatedSubscription: {
            /** @example 1042 */
            id: string;
            /** @example order.placed */
            eventType: string;
            /** @example https://receiver.example/hooks */
            callbackUrl: string;
            active: boolean;
            verified: boolean;
            maxAttempts: number | null;
            /**
             * @description for keys that may not change subscriptions, their values are hidden
             * @example {
             *       "x-tenant": "north"
             *     }
             */
            headers: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            deletedAt: string | null;
            deactivationReason: string | null;
            /** @description null: the last delivery succeeded, or there was none */
            breaker: components["schemas"]["Breaker"] | null;
            /** @description what the receiver verifies with; shown this once */
            secret: string;
        };
        RotatedSecret: {
            /** @description what the receiver verifies with; shown this once */
            secret: string;
            previousExpiresAt: string | null;
        };
        TestOutcome: {
            delivered: boolean;
            responseStatus: number | null;
            errorCode: string | null;
            durationMs: number;
            responseExcerpt: string | null;
        };
        DeadLetter: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            deliveryId: string;
            /** @example 1042 */
            eventId: string;
            /** @description of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @example order.placed */
            eventType: string;
            finalErrorCode: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            failedAt: string;
            attemptCount: number;
            /** @description of the last attempt, as workerId and leaseExpiration */
            jobId: string | null;
            workerId: string | null;
            leaseExpiration: string | null;
            correlationId: string | null;
            /** @description the delivery that took it up again */
            requeuedAs: string | null;
        };
        DeadLetterWithPayload: {
            /** @example 1042 */
            id: string;
            /** @example 1042 */
            deliveryId: string;
            /** @example 1042 */
            eventId: string;
            /** @description of the event; null when its partition was removed */
            webhookId: string | null;
            /** @example 1042 */
            subscriptionId: string;
            /** @example order.placed */
            eventType: string;
            finalErrorCode: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            failedAt: string;
            attemptCount: number;
            /** @description of the last attempt, as workerId and leaseExpiration */
            jobId: string | null;
            workerId: string | null;
            leaseExpiration: string | null;
            correlationId: string | null;
            /** @description the delivery that took it up again */
            requeuedAs: string | null;
            /** @description the event’s payload, byte for byte */
            payloadSnapshot: unknown;
            /**
             * @description the payload is larger than 16 MiB: it is kept, null is shown, and it is never sent
             * @constant
             */
            payloadTooLarge?: true;
        };
        RequeueRequest: {
            filter: {
                /** @example 1042 */
                subscriptionId?: string;
                /** @example order.placed */
                eventType?: string;
                errorCode?: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                from?: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T12:00:00Z
                 */
                to?: string;
                /**
                 * @description every dead letter; an empty filter is refused without it
                 * @constant
                 */
                all?: true;
            };
            /** @description true: only count */
            dryRun?: boolean;
        };
        MatchingDeadLetters: {
            matching: number;
        };
        StartedRequeue: {
            /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
            sagaId: string;
            /** @description what the filter found and nobody had requeued; none that comes later is */
            matching: number;
        };
        Requeued: {
            /** @example 1042 */
            deliveryId: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            /** @description stable; docs/reference/errors.md lists them */
            code: string;
            errors?: {
                field: string;
                detail: string;
            }[];
            /**
             * @description of verification_failed
             * @enum {string}
             */
            reason?: "request_failed" | "challenge_missing" | "callback_url_changed" | "subscription_deleted" | "superseded";
            /** @description of verification_failed: what the callback answered */
            response?: components["schemas"]["TestOutcome"];
        };
        SagaFailure: {
            code: string;
            message: string;
            type: string | null;
            retryable: boolean | null;
            timestamp: string | null;
            stackTrace: string | null;
            details: {
                [key: string]: unknown;
            } | null;
            cause: components["schemas"]["SagaFailure"] | null;
        };
        Saga: {
            /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
            id: string;
            /** @example checkout */
            definition: string;
            definitionVersion: number;
            /** @description starting again with the same key finds this saga */
            key: string | null;
            /** @description of this one, as its starter told it */
            name: string | null;
            description: string | null;
            /** @enum {string} */
            state: "Pending" | "Running" | "StepCompleted" | "Completed" | "Compensating" | "Compensated" | "Failed" | "Cancelled" | "TimedOut";
            /** @description index of the step that runs, or comes next */
            currentStep: number;
            totalSteps: number;
            error: components["schemas"]["SagaFailure"] | null;
            /** @description it waits for an operator: an undo failed for good, or a step waits for what does not come by itself */
            awaitingOperator: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            startedAt: string | null;
            completedAt: string | null;
            timedOutAt: string | null;
            deadlineAt: string | null;
            /** @description when it is taken up again: a retry’s or a wait’s time, or the end of its lease */
            wakeAt: string | null;
            /** @description the coordinator that holds it */
            leaseOwner: string | null;
            leaseUntil: string | null;
            cancelRequestedAt: string | null;
            cancelRequestedBy: string | null;
            cancelReason: string | null;
            traceId: string | null;
            spanId: string | null;
            /** @description the saga that it is a step of */
            parentId: string | null;
            /** @description from then on it only goes forward */
            pivotedAt: string | null;
        };
        SagaStep: {
            index: number;
            name: string;
            /** @enum {string} */
            state: "Pending" | "Running" | "Completed" | "Failed" | "Compensating" | "Compensated" | "Skipped";
            attempts: number;
            maxAttempts: number;
            /** @description what was new to it when it began: outputs of the steps right before it, or the saga’s input */
            input: {
                [key: string]: unknown;
            } | null;
            /** @description what it returned; encrypted data is shown as it is kept */
            output: unknown;
            /** @description how far it has come, where a step of Sagapost’s own keeps count: RequeueProgress */
            progress: {
                [key: string]: unknown;
            } | null;
            error: components["schemas"]["SagaFailure"] | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            startedAt: string | null;
            completedAt: string | null;
            lastAttemptAt: string | null;
            /** @description as its definition has it */
            metadata: {
                [key: string]: unknown;
            } | null;
            /** @description what it waits for, or waited for: signal:<name>:<key>, saga:<id> or delivery:<saga>:<step> */
            waitsFor: string | null;
            /** @description when its sleep or its wait ends, or it is tried again */
            wakeAt: string | null;
            /** @description null: nobody has begun to undo it */
            compensation: {
                /** @enum {string} */
                state: "Pending" | "Running" | "Completed" | "Failed" | "Compensating" | "Compensated" | "Skipped";
                attempts: number;
                maxAttempts: number;
                startedAt: string | null;
                completedAt: string | null;
                error: components["schemas"]["SagaFailure"] | null;
            } | null;
        };
        SagaEvent: {
            /** @description from 1, without gaps */
            sequence: number;
            /** @enum {string} */
            type: "saga.started" | "saga.step.started" | "saga.step.completed" | "saga.step.failed" | "saga.completed" | "saga.failed" | "saga.cancelled" | "saga.timed_out" | "compensation.started" | "compensation.step.started" | "compensation.step.completed" | "compensation.step.failed" | "compensation.completed" | "compensation.failed" | "retry.attempted" | "retry.exhausted" | "state.changed";
            /** @description null: it is about the saga itself */
            stepIndex: number | null;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            timestamp: string;
            /** @description of the step if there is one, else of the saga */
            oldState: string;
            newState: string;
            /** @description of an operator’s action: action, by and why */
            data: {
                [key: string]: unknown;
            } | null;
            /** @description coordinator, in the first entry that each one writes: its leaseOwner */
            metadata: {
                [key: string]: unknown;
            } | null;
            error: components["schemas"]["SagaFailure"] | null;
            traceId: string | null;
            spanId: string | null;
        };
        SagaWithSteps: {
            /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
            id: string;
            /** @example checkout */
            definition: string;
            definitionVersion: number;
            /** @description starting again with the same key finds this saga */
            key: string | null;
            /** @description of this one, as its starter told it */
            name: string | null;
            description: string | null;
            /** @enum {string} */
            state: "Pending" | "Running" | "StepCompleted" | "Completed" | "Compensating" | "Compensated" | "Failed" | "Cancelled" | "TimedOut";
            /** @description index of the step that runs, or comes next */
            currentStep: number;
            totalSteps: number;
            error: components["schemas"]["SagaFailure"] | null;
            /** @description it waits for an operator: an undo failed for good, or a step waits for what does not come by itself */
            awaitingOperator: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            updatedAt: string;
            startedAt: string | null;
            completedAt: string | null;
            timedOutAt: string | null;
            deadlineAt: string | null;
            /** @description when it is taken up again: a retry’s or a wait’s time, or the end of its lease */
            wakeAt: string | null;
            /** @description the coordinator that holds it */
            leaseOwner: string | null;
            leaseUntil: string | null;
            cancelRequestedAt: string | null;
            cancelRequestedBy: string | null;
            cancelReason: string | null;
            traceId: string | null;
            spanId: string | null;
            /** @description the saga that it is a step of */
            parentId: string | null;
            /** @description from then on it only goes forward */
            pivotedAt: string | null;
            input: unknown;
            /** @description what its steps had returned, by their names, when it last began to wait, or ended */
            current: {
                [key: string]: unknown;
            } | null;
            result: unknown;
            metadata: {
                [key: string]: unknown;
            } | null;
            /** @description of all events there are */
            eventCount: number;
            steps: components["schemas"]["SagaStep"][];
            /** @description the last 1,000, oldest first */
            events: components["schemas"]["SagaEvent"][];
        };
        SagaCancel: {
            /** @description who asks; the API key is recorded as well */
            by: string;
            /** @description goes into the saga’s history */
            why: string;
        };
        SagaResolution: {
            /**
             * @description retry: undo again; skip: go on without; resolve: leave it as it is
             * @enum {string}
             */
            action: "retry" | "skip" | "resolve";
            /** @description who asks; the API key is recorded as well */
            by: string;
            /** @description goes into the saga’s history */
            why: string;
        };
        NewSignal: {
            /** @example payment.received */
            name: string;
            /**
             * @description which of this name
             * @example order-7
             */
            key: string;
            /** @description up to 64 KiB of JSON */
            payload?: unknown;
        };
        SignalReceipt: {
            name: string;
            key: string;
            /**
             * Format: date-time
             * @example 2026-01-31T12:00:00.000Z
             */
            receivedAt: string;
            /**
             * Format: date-time
             * @description it is kept until then for sagas that wait for it later
             * @example 2026-01-31T12:00:00.000Z
             */
            expiresAt: string;
            /** @description it had come before; the first one counts */
            duplicate: boolean;
        };
        StatisticsPoint: {
            /**
             * Format: date-time
             * @description its beginning
             * @example 2026-01-31T12:00:00.000Z
             */
            at: string;
            /** @description routed; null for one subscription */
            events: number | null;
            /** @description attempts */
            succeeded: number;
            /** @description attempts */
            failed: number;
            /** @description deliveries */
            deadLettered: number;
            /** @description null: there were none */
            p50Ms: number | null;
            /** @description null: there were none */
            p95Ms: number | null;
            /** @description null: there were none */
            p99Ms: number | null;
        };
        EndpointHealth: {
            /** @example 1042 */
            subscriptionId: string;
            succeeded: number;
            failed: number;
            deadLettered: number;
            /** @description null: there were none */
            p50Ms: number | null;
            /** @description null: there were none */
            p95Ms: number | null;
            lastErrorCode: string | null;
            /** @description to the minute */
            lastErrorAt: string | null;
        };
        RunningProcess: {
            id: string;
            hostname: string;
            pid: number;
            version: string;
            parts: string[];
            startedAt: string | null;
            /** @description null: it is forgotten, and still holds a lease */
            seenAt: string | null;
            /** @description not heard of for half a minute */
            lost: boolean;
            /** @description jobs that its worker holds */
            leases: number;
            leasesExpired: number;
            /** @description the first end of a lease */
            leaseUntil: string | null;
        };
        System: {
            schemaVersion: number;
            serverVersion: string;
            databaseBytes: number;
            connections: number;
            connectionsMax: number;
            processes: components["schemas"]["RunningProcess"][];
            tables: {
                name: string;
                tableBytes: number;
                indexBytes: number;
                rowsEstimated: number | null;
                partitions: number;
            }[];
            indexes: {
                name: string;
                table: string;
                bytes: number;
                scans: number;
            }[];
            /** @description null: the extension pg_stat_statements is not there */
            slowStatements: {
                query: string;
                calls: number;
                meanMs: number;
                totalMs: number;
            }[] | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listEvents: {
        parameters: {
            query?: {
                /** @example order.placed */
                type?: string;
                /** @description the event that was published with it */
                idempotencyKey?: string;
                /** @example 2026-01-31T12:00:00Z */
                from?: string;
                /** @example 2026-01-31T12:00:00Z */
                to?: string;
                /** @description how many, at most 200 */
                limit?: number;
                /** @description nextCursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Event"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publishEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
                /** @description 1 to 255 printable ASCII characters without spaces; sent along with every delivery */
                "sagapost-correlation-id"?: string;
                /** @description W3C Trace Context; sent along with every delivery */
                traceparent?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEvent"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventReceipt"];
                };
            };
            /** @description request_malformed, request_invalid, idempotency_key_required */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large, payload_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, event_type_reserved, event_invalid, payload_invalid, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_much_at_once, too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_busy, overloaded, partition_missing, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publishEvents: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
                /** @description 1 to 255 printable ASCII characters without spaces; sent along with every delivery */
                "sagapost-correlation-id"?: string;
                /** @description W3C Trace Context; sent along with every delivery */
                traceparent?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    events: components["schemas"]["NewEvent"][];
                };
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description one for each event, in order */
                        results: (components["schemas"]["EventReceipt"] | components["schemas"]["ItemError"])[];
                    };
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_much_at_once, too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_busy, overloaded, partition_missing, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSetAsideEvents: {
        parameters: {
            query?: {
                /** @description how many, at most 200 */
                limit?: number;
                /** @description nextCursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["SetAsideEvent"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description an event’s id or webhookId */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventWithPayload"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                /** @example order.placed */
                eventType?: string;
                active?: "true" | "false";
                /** @description absent: deleted ones are listed among the others */
                deleted?: "true" | "false";
                /** @description whether the last attempt failed: those with a `breaker` */
                failing?: "true" | "false";
                /** @description how many, at most 200 */
                limit?: number;
                /** @description nextCursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Subscription"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createSubscription: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSubscription"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedSubscription"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_conflict, subscription_secret_invalid, subscription_secret_removed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, callback_url_not_https, callback_url_invalid, callback_url_blocked, subscription_invalid, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscriptionChange"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_verified, subscription_deleted */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, callback_url_not_https, callback_url_invalid, callback_url_blocked, subscription_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verifySubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        verified: true;
                        /** @enum {boolean} */
                        active: true;
                    };
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_deleted, subscription_secret_invalid */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description verification_failed */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestOutcome"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_deleted, subscription_secret_invalid */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotateSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description how long the previous secret signs along; 24 hours unless told */
                    overlapMs?: number;
                    /**
                     * @description v1: HMAC-SHA256; v1a: ed25519
                     * @enum {string}
                     */
                    scheme?: "v1" | "v1a";
                };
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedSecret"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_deleted, subscription_secret_invalid, idempotency_conflict, subscription_secret_removed */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_invalid, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                status?: "Pending" | "InProgress" | "PendingRetry" | "Completed" | "DeadLettered";
                /** @example 1042 */
                eventId?: string;
                /** @example 1042 */
                subscriptionId?: string;
                /** @description of the last failure of those in PendingRetry and DeadLettered */
                errorCode?: string;
                /** @example order.placed */
                eventType?: string;
                /** @description how many, at most 200 */
                limit?: number;
                /** @description nextCursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Delivery"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description delivery_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithAttempts"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description delivery_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description delivery_not_cancellable */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeadLetters: {
        parameters: {
            query?: {
                /** @example 1042 */
                subscriptionId?: string;
                /** @example order.placed */
                eventType?: string;
                errorCode?: string;
                /** @example 2026-01-31T12:00:00Z */
                from?: string;
                /** @example 2026-01-31T12:00:00Z */
                to?: string;
                /** @description how many, at most 200 */
                limit?: number;
                /** @description nextCursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["DeadLetter"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDeadLetter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterWithPayload"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description dead_letter_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    requeueDeadLetter: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1042 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Requeued"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Requeued"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description dead_letter_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description subscription_inactive, subscription_deleted */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    requeueDeadLetters: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 printable ASCII characters: the same request again makes nothing new */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequeueRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MatchingDeadLetters"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRequeue"];
                };
            };
            /** @description request_malformed, request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description event_type_invalid, requeue_filter_empty, requeue_too_large, idempotency_key_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSagas: {
        parameters: {
            query?: {
                state?: "Pending" | "Running" | "StepCompleted" | "Completed" | "Compensating" | "Compensated" | "Failed" | "Cancelled" | "TimedOut";
                definition?: string;
                traceId?: string;
                /** @description those only that wait for an operator */
                awaitingOperator?: "true";
                /** @description how many, at most 200 */
                limit?: number;
                /** @description nextCursor of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Saga"][];
                        /** @description null: the last page */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description request_invalid, query_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSaga: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SagaWithSteps"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelSaga: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SagaCancel"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Saga"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_cancellable */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_resolution_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resolveSaga: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SagaResolution"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Saga"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_not_awaiting_operator */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description saga_resolution_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sendSignal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSignal"];
            };
        };
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignalReceipt"];
                };
            };
            /** @description request_malformed, request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description signal_conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description request_too_large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description content_type_unsupported */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description signal_invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description idempotency_key_busy, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readStatistics: {
        parameters: {
            query?: {
                range?: "hour" | "day";
                /**
                 * @description absent: of all
                 * @example 1042
                 */
                subscriptionId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["StatisticsPoint"][];
                    };
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readEndpointHealth: {
        parameters: {
            query: {
                /** @description ids of subscriptions, with commas between them; at most 200 */
                ids: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["EndpointHealth"][];
                    };
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    describeSystem: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["System"];
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watchSystem: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the stream */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description request_invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description overloaded, database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
        };
    };
    readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready";
                    };
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "not_ready";
                        obstacles: {
                            code: string;
                            detail: string;
                        }[];
                    };
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description the metrics */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description unauthenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description too_many_bad_keys */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description database_unreachable, database_timed_out, database_read_only, database_full, database_locks_exhausted, schema_outdated, permission_denied */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
