<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>QObject</name>
    <message>
        <source>Runs and sessions (%1 %2)</source>
        <translation>Aufnahmen und Sitzungen (%1 %2)</translation>
    </message>
    <message>
        <source>Sessions (%1 *.json)</source>
        <translation>Sitzungen (%1 *.json)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>Alle Dateien (*)</translation>
    </message>
    <message>
        <source>%1 and %2 more</source>
        <translation>%1 und %2 weitere</translation>
    </message>
    <message>
        <source> and %1 more</source>
        <translation> und %1 weitere</translation>
    </message>
    <message>
        <source>adding a replay</source>
        <translation>(Replay hinzugefügt)</translation>
    </message>
    <message>
        <source>removing a replay</source>
        <translation>(Replay entfernt)</translation>
    </message>
    <message>
        <source>the choice of what to compare with</source>
        <translation>(Vergleichsbasis gewählt)</translation>
    </message>
    <message>
        <source>change of %1</source>
        <translation>(%1 geändert)</translation>
    </message>
    <message>
        <source>names more than %1 runs</source>
        <translation>nennt mehr als %1 Läufe</translation>
    </message>
    <message>
        <source>names something that is not a file: %1</source>
        <translation>nennt etwas, das keine Datei ist: %1</translation>
    </message>
    <message>
        <source>has a run without inputs</source>
        <translation>enthält einen Lauf ohne Eingaben</translation>
    </message>
    <message>
        <source>names no run</source>
        <translation>nennt keinen Lauf</translation>
    </message>
    <message>
        <source>has no replays, or more than %1</source>
        <translation>enthält keine Replays oder mehr als %1</translation>
    </message>
    <message>
        <source>replays a run that it does not list</source>
        <translation>enthält ein Replay eines Laufs, der nicht aufgeführt ist</translation>
    </message>
    <message>
        <source>the filter: %1</source>
        <translation>der Filter: %1</translation>
    </message>
    <message>
        <source>the metric &apos;%1&apos; is not one of %2</source>
        <translation>die Metrik „%1“ ist keine von %2</translation>
    </message>
    <message>
        <source>byte %1: %2</source>
        <translation>Byte %1: %2</translation>
    </message>
    <message>
        <source>is not a ulpscope session, or was saved by a later version</source>
        <translation>ist keine ulpscope-Sitzung oder wurde von einer neueren Version gespeichert</translation>
    </message>
    <message>
        <source>is not a regular file</source>
        <translation>ist keine reguläre Datei</translation>
    </message>
    <message>
        <source>Load configuration</source>
        <translation>Konfiguration laden</translation>
    </message>
    <message>
        <source>logged scale</source>
        <translation>geloggte Skalierung</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>nicht bekannt</translation>
    </message>
    <message>
        <source>recorded</source>
        <translation>aufgezeichnet</translation>
    </message>
    <message>
        <source>without a framework</source>
        <translation>ohne Framework</translation>
    </message>
    <message>
        <source>steps %1 to %2</source>
        <translation>Schritte %1 bis %2</translation>
    </message>
    <message>
        <source>tensor %1</source>
        <translation>Tensor %1</translation>
    </message>
    <message>
        <source>filter %1</source>
        <translation>Filter %1</translation>
    </message>
    <message>
        <source>tried 2^%1</source>
        <translation>erprobt: 2^%1</translation>
    </message>
    <message>
        <source>read with %1</source>
        <translation>gelesen mit %1</translation>
    </message>
    <message>
        <source>at the least of the layers&apos; scales</source>
        <translation>bei der kleinsten Skalierung der Schichten</translation>
    </message>
    <message>
        <source>step %1, all tensors</source>
        <translation>Schritt %1, alle Tensoren</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>all steps, all tensors</source>
        <translation>alle Schritte, alle Tensoren</translation>
    </message>
    <message>
        <source>1 step</source>
        <translation>1 Schritt</translation>
    </message>
    <message>
        <source>%1 steps</source>
        <translation>%1 Schritte</translation>
    </message>
    <message>
        <source>1 tensor</source>
        <translation>1 Tensor</translation>
    </message>
    <message>
        <source>%1 tensors</source>
        <translation>%1 Tensoren</translation>
    </message>
    <message>
        <source>logged scale, log2; ticks: overflow</source>
        <translation>geloggte Skalierung, log2; Striche: Überlauf</translation>
    </message>
    <message>
        <source>the replay&apos;s scale, log2; ticks: skips</source>
        <translation>Skalierung des Replays, log2; Striche: übersprungen</translation>
    </message>
    <message>
        <source>loss, log2</source>
        <translation>Loss, log2</translation>
    </message>
    <message>
        <source>gradient norm, log2</source>
        <translation>Gradientennorm, log2</translation>
    </message>
    <message>
        <source>%1; before step %2</source>
        <translation>%1; vor Schritt %2</translation>
    </message>
    <message>
        <source>Limits: %1</source>
        <translation>Grenzen: %1</translation>
    </message>
    <message>
        <source>What underflows in %1 under this replay?</source>
        <translation>Was läuft in %1 bei diesem Replay unter?</translation>
    </message>
    <message>
        <source>Counting ...</source>
        <translation>Zähle ...</translation>
    </message>
    <message>
        <source>largest scaled gradient</source>
        <translation>größter skalierter Gradient</translation>
    </message>
    <message>
        <source>largest gradient</source>
        <translation>größter Gradient</translation>
    </message>
    <message>
        <source>L2 norm of the scaled gradients</source>
        <translation>L2-Norm der skalierten Gradienten</translation>
    </message>
    <message>
        <source>L2 norm of the unscaled gradients</source>
        <translation>L2-Norm der unskalierten Gradienten</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
    <message>
        <source>%1 ± %2</source>
        <translation>%1 ± %2</translation>
    </message>
    <message>
        <source>2^%1</source>
        <translation>2^%1</translation>
    </message>
    <message>
        <source>each becomes zero with a chance of %1 to %2 %</source>
        <translation>wird je mit einer Wahrscheinlichkeit von %1 bis %2 % zu null</translation>
    </message>
    <message>
        <source>may become zero</source>
        <translation>kann zu null werden</translation>
    </message>
    <message>
        <source>becomes zero</source>
        <translation>wird zu null</translation>
    </message>
    <message>
        <source>subnormal</source>
        <translation>subnormal</translation>
    </message>
    <message>
        <source>normal</source>
        <translation>normal</translation>
    </message>
    <message>
        <source>overflows</source>
        <translation>läuft über</translation>
    </message>
    <message>
        <source>partly %1</source>
        <translation>teils %1</translation>
    </message>
    <message>
        <source>, partly </source>
        <translation>, teils </translation>
    </message>
    <message>
        <source>What these formats hold at the loss scale %1: thick normal, thin subnormal</source>
        <translation>Was diese Formate bei der Loss-Skalierung %1 darstellen: dick normal, dünn subnormal</translation>
    </message>
    <message>
        <source>weight gradients</source>
        <translation>Gewichtsgradienten</translation>
    </message>
    <message>
        <source>activation gradients</source>
        <translation>Aktivierungsgradienten</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>Gewichte</translation>
    </message>
    <message>
        <source>updates</source>
        <translation>Updates</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>Aktivierungen</translation>
    </message>
    <message>
        <source>of unknown kind</source>
        <translation>unbekannter Art</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 bis %2</translation>
    </message>
    <message>
        <source>never</source>
        <translation>nie</translation>
    </message>
    <message>
        <source>%1 or never</source>
        <translation>%1 oder nie</translation>
    </message>
    <message>
        <source>step %1 at the earliest, perhaps never</source>
        <translation>frühestens Schritt %1, vielleicht nie</translation>
    </message>
    <message>
        <source>first underflow</source>
        <translation>erster Unterlauf</translation>
    </message>
    <message>
        <source>first subnormal result</source>
        <translation>erstes subnormales Ergebnis</translation>
    </message>
    <message>
        <source>first overflow</source>
        <translation>erster Überlauf</translation>
    </message>
    <message>
        <source>first loss</source>
        <translation>erster Verlust</translation>
    </message>
    <message>
        <source>first zero</source>
        <translation>erste Null</translation>
    </message>
    <message>
        <source>first lost update</source>
        <translation>erstes verlorenes Update</translation>
    </message>
    <message>
        <source>first saturation</source>
        <translation>erste Sättigung</translation>
    </message>
    <message>
        <source>first stale scale</source>
        <translation>erste veraltete Skalierung</translation>
    </message>
    <message>
        <source>first step without headroom</source>
        <translation>erster Schritt ohne Reserve</translation>
    </message>
    <message>
        <source>%1 of %2 values</source>
        <translation>%1 von %2 Werten</translation>
    </message>
    <message>
        <source>%1 of %2 updates</source>
        <translation>%1 von %2 Updates</translation>
    </message>
    <message>
        <source>%1 of %2 steps</source>
        <translation>%1 von %2 Schritten</translation>
    </message>
    <message>
        <source>%1 of %2 nonzero values</source>
        <translation>%1 von %2 Werten ungleich null</translation>
    </message>
    <message>
        <source>worst column</source>
        <translation>schlimmste Spalte</translation>
    </message>
    <message>
        <source>from step</source>
        <translation>ab Schritt</translation>
    </message>
    <message>
        <source>all steps</source>
        <translation>alle Schritte</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>step (%1 of %2 rows)</source>
        <translation>Schritt (%1 von %2 Zeilen)</translation>
    </message>
    <message>
        <source>step (rows %1 to %2 of %3)</source>
        <translation>Schritt (Zeilen %1 bis %2 von %3)</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>gradient norm</source>
        <translation>Gradientennorm</translation>
    </message>
    <message>
        <source>learning rate</source>
        <translation>Lernrate</translation>
    </message>
    <message>
        <source>logged loss scale</source>
        <translation>geloggte Loss-Skalierung</translation>
    </message>
    <message>
        <source>%1 (%2 infinite or NaN)</source>
        <translation>%1 (%2 unendlich oder NaN)</translation>
    </message>
    <message>
        <source>%1 (at step %2)</source>
        <translation>%1 (bei Schritt %2)</translation>
    </message>
    <message>
        <source>: %1 of %2</source>
        <translation>: %1 von %2</translation>
    </message>
    <message>
        <source>ends at %1%2</source>
        <translation>endet bei %1%2</translation>
    </message>
    <message>
        <source>none skipped</source>
        <translation>keiner übersprungen</translation>
    </message>
    <message>
        <source>%1 skipped</source>
        <translation>%1 übersprungen</translation>
    </message>
    <message>
        <source>%1 in %2 % of the steps</source>
        <translation>%1 in %2 % der Schritte</translation>
    </message>
    <message>
        <source>at its floor</source>
        <translation>an der Untergrenze</translation>
    </message>
    <message>
        <source>at its ceiling</source>
        <translation>an der Obergrenze</translation>
    </message>
    <message>
        <source>[%1, %2]</source>
        <translation>[%1, %2]</translation>
    </message>
    <message>
        <source>no step</source>
        <translation>kein Schritt</translation>
    </message>
    <message>
        <source>%1 of %2 steps (%3 %)</source>
        <translation>%1 von %2 Schritten (%3 %)</translation>
    </message>
    <message>
        <source>its configuration keeps it out</source>
        <translation>die Konfiguration nimmt ihn aus</translation>
    </message>
    <message>
        <source>vectors such as biases and norms are not</source>
        <translation>Vektoren wie Biases und Norms sind ausgenommen</translation>
    </message>
    <message>
        <source>what products give is not</source>
        <translation>Ergebnisse von Produkten sind ausgenommen</translation>
    </message>
    <message>
        <source>no step has it</source>
        <translation>er kommt in keinem Schritt vor</translation>
    </message>
    <message>
        <source>smallest normal</source>
        <translation>kleinste normale Zahl</translation>
    </message>
    <message>
        <source>overflow</source>
        <translation>Überlauf</translation>
    </message>
    <message>
        <source>everything becomes zero: the loss scale is 0</source>
        <translation>alles wird zu null: die Loss-Skalierung ist 0</translation>
    </message>
    <message>
        <source>everything overflows: the loss scale is infinite</source>
        <translation>alles läuft über: die Loss-Skalierung ist unendlich</translation>
    </message>
    <message>
        <source>everything becomes zero where the loss scale is 0</source>
        <translation>alles wird zu null, wo die Loss-Skalierung 0 ist</translation>
    </message>
    <message>
        <source>everything overflows where the loss scale is infinite</source>
        <translation>alles läuft über, wo die Loss-Skalierung unendlich ist</translation>
    </message>
    <message>
        <source>zero below %1</source>
        <translation>null unter %1</translation>
    </message>
    <message>
        <source>subnormal below %1</source>
        <translation>subnormal unter %1</translation>
    </message>
    <message>
        <source>overflow above %1</source>
        <translation>Überlauf über %1</translation>
    </message>
    <message>
        <source>%1 at the scale 2^%2, tried out</source>
        <translation>%1 bei der Skalierung 2^%2, erprobt</translation>
    </message>
    <message>
        <source>skipped steps</source>
        <translation>übersprungene Schritte</translation>
    </message>
    <message>
        <source>about %1</source>
        <translation>etwa %1</translation>
    </message>
    <message>
        <source>gradients, stronger is more (log)</source>
        <translation>Gradienten, kräftiger heißt mehr (log)</translation>
    </message>
    <message>
        <source>no finite nonzero gradient</source>
        <translation>kein endlicher Gradient ungleich null</translation>
    </message>
    <message>
        <source>The selected tensors hold no finite nonzero gradient.</source>
        <translation>Die ausgewählten Tensoren enthalten keinen endlichen Gradienten ungleich null.</translation>
    </message>
    <message>
        <source>There is too little room for what was logged.</source>
        <translation>Für die geloggten Werte ist zu wenig Platz.</translation>
    </message>
    <message>
        <source>The run has no tensors: there is nothing to show here.</source>
        <translation>Der Lauf hat keine Tensoren: Hier gibt es nichts zu zeigen.</translation>
    </message>
    <message>
        <source>gradient</source>
        <translation>Gradient</translation>
    </message>
    <message>
        <source>gradients up to 2^%1</source>
        <translation>Gradienten bis 2^%1 hinauf</translation>
    </message>
    <message>
        <source>gradients down to 2^%1</source>
        <translation>Gradienten bis 2^%1 hinunter</translation>
    </message>
    <message>
        <source>step %1: %2</source>
        <translation>Schritt %1: %2</translation>
    </message>
    <message>
        <source>1 gradient</source>
        <translation>1 Gradient</translation>
    </message>
    <message>
        <source>%1 gradients</source>
        <translation>%1 Gradienten</translation>
    </message>
    <message>
        <source>%1: %2 in [2^%3, 2^%4), %5 % of all in these steps</source>
        <translation>%1: %2 in [2^%3, 2^%4), %5 % aller in diesen Schritten</translation>
    </message>
    <message>
        <source>%1 zeros, %2 infinite or NaN</source>
        <translation>%1 Nullen, %2 unendlich oder NaN</translation>
    </message>
    <message>
        <source>%1 at the loss scale %2: overflow above %3, subnormal below %4, zero below %5</source>
        <translation>%1 bei der Loss-Skalierung %2: Überlauf über %3, subnormal unter %4, null unter %5</translation>
    </message>
</context>
<context>
    <name>columns</name>
    <message>
        <source>replay</source>
        <translation>Replay</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>overflow</source>
        <translation>Überlauf</translation>
    </message>
    <message>
        <source>scale</source>
        <translation>Skalierung</translation>
    </message>
    <message>
        <source>next scale</source>
        <translation>danach</translation>
    </message>
    <message>
        <source>skipped</source>
        <translation>übersprungen</translation>
    </message>
    <message>
        <source>critical scale</source>
        <translation>kritische Skal.</translation>
    </message>
    <message>
        <source>underflow</source>
        <translation>Unterlauf</translation>
    </message>
    <message>
        <source>values that overflow</source>
        <translation>Werte im Überlauf</translation>
    </message>
    <message>
        <source>norm</source>
        <translation>Norm</translation>
    </message>
    <message>
        <source>clip coefficient</source>
        <translation>Clip-Koeffizient</translation>
    </message>
    <message>
        <source>clipped</source>
        <translation>geclippt</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>first skip</source>
        <translation>zuerst übersprungen</translation>
    </message>
    <message>
        <source>scale at the end</source>
        <translation>Skalierung am Ende</translation>
    </message>
    <message>
        <source>clipped steps</source>
        <translation>geclippte Schritte</translation>
    </message>
    <message>
        <source>regret</source>
        <translation>Regret</translation>
    </message>
    <message>
        <source>diverges at step</source>
        <translation>divergiert bei Schritt</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>Rang</translation>
    </message>
    <message>
        <source>best</source>
        <translation>beste</translation>
    </message>
    <message>
        <source>scaler</source>
        <translation>Scaler</translation>
    </message>
    <message>
        <source>set</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>rounding</source>
        <translation>Rundung</translation>
    </message>
    <message>
        <source>lost</source>
        <translation>verloren</translation>
    </message>
    <message>
        <source>% of nonzero</source>
        <translation>% der Werte ≠ 0</translation>
    </message>
    <message>
        <source>mean scale</source>
        <translation>mittlere Skalierung</translation>
    </message>
    <message>
        <source>last scale</source>
        <translation>letzte Skalierung</translation>
    </message>
    <message>
        <source>free regret</source>
        <translation>freier Regret</translation>
    </message>
    <message>
        <source>why no regret</source>
        <translation>warum kein Regret</translation>
    </message>
    <message>
        <source>raised</source>
        <translation>Fehler</translation>
    </message>
    <message>
        <source>bits</source>
        <translation>Bits</translation>
    </message>
    <message>
        <source>lost to zero</source>
        <translation>zu null verloren</translation>
    </message>
    <message>
        <source>subnormal</source>
        <translation>subnormal</translation>
    </message>
    <message>
        <source>beyond the largest</source>
        <translation>über der größten</translation>
    </message>
    <message>
        <source>a scale for</source>
        <translation>Skalierung für</translation>
    </message>
    <message>
        <source>elements</source>
        <translation>Elemente</translation>
    </message>
    <message>
        <source>least to largest</source>
        <translation>kleinste bis größte</translation>
    </message>
    <message>
        <source>source</source>
        <translation>Quelle</translation>
    </message>
    <message>
        <source>tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>loss scale</source>
        <translation>Loss-Skalierung</translation>
    </message>
    <message>
        <source>static scales that suffice</source>
        <translation>statische Skalierungen, die reichen</translation>
    </message>
    <message>
        <source>smallest format without a loss scale</source>
        <translation>kleinstes Format ohne Loss-Skalierung</translation>
    </message>
    <message>
        <source>judged by</source>
        <translation>beurteilt nach</translation>
    </message>
    <message>
        <source>lost magnitude at %1</source>
        <translation>verlorener Betrag bei %1</translation>
    </message>
    <message>
        <source>underflow at %1</source>
        <translation>Unterlauf bei %1</translation>
    </message>
    <message>
        <source>overflow at %1</source>
        <translation>Überlauf bei %1</translation>
    </message>
</context>
<context>
    <name>layers</name>
    <message>
        <source>underflow, share of nonzero</source>
        <translation>Unterlauf, Anteil an Werten ≠ 0</translation>
    </message>
    <message>
        <source>Underflow %1, share of the nonzero values</source>
        <translation>Unterlauf %1, Anteil an den Werten ungleich null</translation>
    </message>
    <message>
        <source>Nothing underflows %1</source>
        <translation>Nichts läuft %1 unter</translation>
    </message>
    <message>
        <source>subnormal, share of nonzero</source>
        <translation>subnormal, Anteil an Werten ≠ 0</translation>
    </message>
    <message>
        <source>Subnormal results %1, share of the nonzero values</source>
        <translation>Subnormale Ergebnisse %1, Anteil an den Werten ungleich null</translation>
    </message>
    <message>
        <source>No result is subnormal %1</source>
        <translation>Kein Ergebnis ist %1 subnormal</translation>
    </message>
    <message>
        <source>overflow, share of nonzero</source>
        <translation>Überlauf, Anteil an Werten ≠ 0</translation>
    </message>
    <message>
        <source>Overflow %1, share of the nonzero values</source>
        <translation>Überlauf %1, Anteil an den Werten ungleich null</translation>
    </message>
    <message>
        <source>Nothing overflows %1</source>
        <translation>Nichts läuft %1 über</translation>
    </message>
    <message>
        <source>lost magnitude, L1</source>
        <translation>verlorener Betrag, L1</translation>
    </message>
    <message>
        <source>Magnitude lost to underflow %1, share of the L1 norm</source>
        <translation>Durch Unterlauf verlorener Betrag %1, Anteil an der L1-Norm</translation>
    </message>
    <message>
        <source>Underflow takes no magnitude %1</source>
        <translation>Unterlauf kostet %1 keinen Betrag</translation>
    </message>
    <message>
        <source>lost magnitude, L2</source>
        <translation>verlorener Betrag, L2</translation>
    </message>
    <message>
        <source>Magnitude lost to underflow %1, share of the L2 norm</source>
        <translation>Durch Unterlauf verlorener Betrag %1, Anteil an der L2-Norm</translation>
    </message>
    <message>
        <source>SQNR, dB</source>
        <translation>SQNR, dB</translation>
    </message>
    <message>
        <source>Signal to rounding noise %1, in dB</source>
        <translation>Signal-Rausch-Abstand der Rundung %1, in dB</translation>
    </message>
    <message>
        <source>zeros before rounding, share of all</source>
        <translation>Nullen vor dem Runden, Anteil an allen</translation>
    </message>
    <message>
        <source>Zeros before rounding, share of all values</source>
        <translation>Nullen vor dem Runden, Anteil an allen Werten</translation>
    </message>
    <message>
        <source>No value is zero before rounding</source>
        <translation>Kein Wert ist vor dem Runden null</translation>
    </message>
    <message>
        <source>largest gradient, log2</source>
        <translation>größter Gradient, log2</translation>
    </message>
    <message>
        <source>Largest magnitude before scaling, log2</source>
        <translation>Größter Betrag vor der Skalierung, log2</translation>
    </message>
    <message>
        <source>headroom, binades</source>
        <translation>Reserve, Binaden</translation>
    </message>
    <message>
        <source>Binades from the largest value to overflow %1</source>
        <translation>Binaden vom größten Wert bis zum Überlauf %1</translation>
    </message>
    <message>
        <source>saturated in FP8, share of nonzero</source>
        <translation>in FP8 gesättigt, Anteil an Werten ≠ 0</translation>
    </message>
    <message>
        <source>Saturated under %1, share of the nonzero values</source>
        <translation>Gesättigt unter %1, Anteil an den Werten ungleich null</translation>
    </message>
    <message>
        <source>Nothing saturates under %1</source>
        <translation>Unter %1 sättigt nichts</translation>
    </message>
    <message>
        <source>stale FP8 scale, share of steps</source>
        <translation>veraltete FP8-Skalierung, Anteil an Schritten</translation>
    </message>
    <message>
        <source>Scale off by more than a binade under %1, share of steps</source>
        <translation>Skalierung unter %1 um mehr als eine Binade daneben, Anteil an den Schritten</translation>
    </message>
    <message>
        <source>No scale is off by more than a binade under %1</source>
        <translation>Keine Skalierung liegt unter %1 um mehr als eine Binade daneben</translation>
    </message>
    <message>
        <source>updates lost, share of updates</source>
        <translation>verlorene Updates, Anteil an Updates</translation>
    </message>
    <message>
        <source>Share of updates lost by weights kept in %1 without a master copy (nearest even)</source>
        <translation>Anteil der Updates, die bei Gewichten in %1 ohne Master-Kopie verloren gehen (nearest even)</translation>
    </message>
    <message>
        <source>No update is lost by weights kept in %1 without a master copy (nearest even)</source>
        <translation>Bei Gewichten in %1 ohne Master-Kopie geht kein Update verloren (nearest even)</translation>
    </message>
    <message>
        <source>no values</source>
        <translation>keine Werte</translation>
    </message>
    <message>
        <source>no nonzero update recorded</source>
        <translation>kein Update ungleich null aufgezeichnet</translation>
    </message>
    <message>
        <source>amax is zero, infinite or NaN</source>
        <translation>amax ist null, unendlich oder NaN</translation>
    </message>
    <message>
        <source>no finite nonzero value</source>
        <translation>kein endlicher Wert ungleich null</translation>
    </message>
</context>
<context>
    <name>ulp::gui::ask_bar</name>
    <message>
        <source>By the logged scale</source>
        <translation>Mit der geloggten Skalierung</translation>
    </message>
    <message>
        <source>By a scale in a CSV...</source>
        <translation>Mit Skalierung aus CSV...</translation>
    </message>
    <message>
        <source>No</source>
        <translation>Nein</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Change...</source>
        <translation>Ändern...</translation>
    </message>
    <message>
        <source>No, the values are true gradients</source>
        <translation>Nein, die Werte sind echte Gradienten</translation>
    </message>
    <message>
        <source>Each step&apos;s values were multiplied by the loss scale that is logged for it</source>
        <translation>Die Werte jedes Schritts wurden mit der Loss-Skalierung multipliziert, die für ihn geloggt ist</translation>
    </message>
    <message>
        <source>A CSV file with the columns step and scale</source>
        <translation>Eine CSV-Datei mit den Spalten step und scale</translation>
    </message>
    <message>
        <source>by factor 2^16</source>
        <translation>mit Faktor 2^16</translation>
    </message>
    <message>
        <source>Factor by which all values were multiplied</source>
        <translation>Faktor, mit dem alle Werte multipliziert wurden</translation>
    </message>
    <message>
        <source>Keep the inferred roles</source>
        <translation>Die erschlossenen Rollen behalten</translation>
    </message>
    <message>
        <source>Change the inferred roles</source>
        <translation>Die erschlossenen Rollen ändern</translation>
    </message>
    <message>
        <source>The factor in the file cannot be right: were the values multiplied by a loss scale?</source>
        <translation>Der Faktor in der Datei kann nicht stimmen: Wurden die Werte mit einer Loss-Skalierung multipliziert?</translation>
    </message>
    <message>
        <source>Values as recorded: were they multiplied by a loss scale?</source>
        <translation>Werte wie aufgezeichnet: Wurden sie mit einer Loss-Skalierung multipliziert?</translation>
    </message>
    <message>
        <source>A CSV file with the loss scale of each step</source>
        <translation>Eine CSV-Datei mit der Loss-Skalierung jedes Schritts</translation>
    </message>
    <message>
        <source>CSV (*.csv *.csv.gz);;All files (*)</source>
        <translation>CSV (*.csv *.csv.gz);;Alle Dateien (*)</translation>
    </message>
</context>
<context>
    <name>ulp::gui::block_choice</name>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>The replay&apos;s format, or one whose blocks share a scale; further rows of ulp formats --blocks are typed</source>
        <translation>Das Format des Replays oder eines, dessen Blöcke eine Skalierung teilen; weitere Zeilen von ulp formats --blocks werden eingetippt</translation>
    </message>
    <message>
        <source>of the replay</source>
        <translation>des Replays</translation>
    </message>
</context>
<context>
    <name>ulp::gui::clipping_view</name>
    <message>
        <source>Clipping</source>
        <translation>Clipping</translation>
    </message>
    <message>
        <source>How often does clipping trigger, and by how much?</source>
        <translation>Wie oft greift das Clipping, und wie stark?</translation>
    </message>
    <message>
        <source>Replaying ...</source>
        <translation>Replay läuft ...</translation>
    </message>
    <message>
        <source>None of these steps has a known, finite, positive largest gradient.</source>
        <translation>In keinem dieser Schritte ist der größte Gradient bekannt, endlich und positiv.</translation>
    </message>
    <message>
        <source>None of these steps has a known, finite, positive norm.</source>
        <translation>In keinem dieser Schritte ist die Norm bekannt, endlich und positiv.</translation>
    </message>
    <message>
        <source>No clipping.</source>
        <translation>Kein Clipping.</translation>
    </message>
    <message>
        <source>No clipping. Drag the dashed line, or click a share at the right, to set a bound.</source>
        <translation>Kein Clipping. Für eine Schranke die gestrichelte Linie ziehen oder rechts auf einen Anteil klicken.</translation>
    </message>
    <message>
        <source>; %1 values are clamped</source>
        <translation>; %1 Werte werden begrenzt</translation>
    </message>
    <message>
        <source>; [%1, %2] values are clamped</source>
        <translation>; [%1, %2] Werte werden begrenzt</translation>
    </message>
    <message>
        <source>The shares at the right are of the steps before %1, when the run was lost.</source>
        <translation>Die Anteile rechts gelten für die Schritte vor %1, bei dem der Lauf verloren war.</translation>
    </message>
    <message>
        <source>ticks at the bottom: clipped</source>
        <translation>Striche unten: geclippt</translation>
    </message>
    <message>
        <source>ticks at the top: infinite</source>
        <translation>Striche oben: unendlich</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>step (%1)</source>
        <translation>Schritt (%1)</translation>
    </message>
    <message>
        <source>magnitude</source>
        <translation>Betrag</translation>
    </message>
    <message>
        <source>norm</source>
        <translation>Norm</translation>
    </message>
    <message>
        <source>%1 % of finite steps: %2</source>
        <translation>%1 % der endlichen Schritte: %2</translation>
    </message>
    <message>
        <source>%1 % of steps: %2</source>
        <translation>%1 % der Schritte: %2</translation>
    </message>
    <message>
        <source>no bound yet</source>
        <translation>noch keine Schranke</translation>
    </message>
    <message>
        <source>clip value %1</source>
        <translation>Clip-Wert %1</translation>
    </message>
    <message>
        <source>clip norm %1</source>
        <translation>Clip-Norm %1</translation>
    </message>
    <message>
        <source>Clip value %1 triggers </source>
        <translation>Der Clip-Wert %1 greift </translation>
    </message>
    <message>
        <source>Clip norm %1 triggers </source>
        <translation>Die Clip-Norm %1 greift </translation>
    </message>
    <message>
        <source>in %1 of %2 steps: </source>
        <translation>in %1 von %2 Schritten: </translation>
    </message>
    <message>
        <source>in %1 of %2 finite steps</source>
        <translation>in %1 von %2 endlichen Schritten</translation>
    </message>
    <message>
        <source> (%1 %)</source>
        <translation> (%1 %)</translation>
    </message>
    <message>
        <source>, and in %1 with infinities</source>
        <translation>, und in %1 mit Unendlich</translation>
    </message>
    <message>
        <source>; %1 steps have no number</source>
        <translation>; %1 Schritte haben keine Zahl</translation>
    </message>
    <message>
        <source>step %1: %2 %3</source>
        <translation>Schritt %1: %2 %3</translation>
    </message>
    <message>
        <source>largest gradient</source>
        <translation>größter Gradient</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>nicht bekannt</translation>
    </message>
    <message>
        <source>infinite</source>
        <translation>unendlich</translation>
    </message>
    <message>
        <source>, multiplied by %1</source>
        <translation>, multipliziert mit %1</translation>
    </message>
    <message>
        <source>, clipped</source>
        <translation>, geclippt</translation>
    </message>
    <message>
        <source>The L2 norm of the unscaled gradients at each step, or their largest magnitude where values are clipped, and the bound. Drag the bound to change it; it is replayed when you let go. The labels at the right are the bounds that trigger in at most 1, 5 and 10 % of the finite steps; a click takes one. Ticks at the bottom are the steps in which clipping triggers. Ticks at the top are steps with infinities, which trigger at every bound and are counted apart.</source>
        <translation>Die L2-Norm der unskalierten Gradienten in jedem Schritt, oder ihr größter Betrag, wo einzelne Werte geclippt werden, und die Schranke. Ziehen ändert die Schranke; beim Loslassen wird das Replay neu berechnet. Die Beschriftungen rechts sind die Schranken, die in höchstens 1, 5 und 10 % der endlichen Schritte greifen; ein Klick übernimmt eine. Striche unten sind die Schritte, in denen das Clipping greift. Striche oben sind Schritte mit Unendlich, die bei jeder Schranke greifen und getrennt gezählt werden.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::command_line</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Command that reproduces the replay</source>
        <translation>Befehl, der das Replay reproduziert</translation>
    </message>
    <message>
        <source>Copy the command</source>
        <translation>Den Befehl kopieren</translation>
    </message>
</context>
<context>
    <name>ulp::gui::compare_view</name>
    <message>
        <source>Compare</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>In which step and tensor do two runs part?</source>
        <translation>In welchem Schritt und Tensor trennen sich zwei Läufe?</translation>
    </message>
    <message>
        <source>steps of one number</source>
        <translation>Schritte gleicher Nummer</translation>
    </message>
    <message>
        <source>steps of one loss</source>
        <translation>Schritte gleichen Loss</translation>
    </message>
    <message>
        <source>Which steps are compared</source>
        <translation>Welche Schritte verglichen werden</translation>
    </message>
    <message>
        <source>Of one loss: for runs that advance at different speeds, as ulp compare --align loss</source>
        <translation>Gleichen Loss: für Läufe, die unterschiedlich schnell vorankommen, wie ulp compare --align loss</translation>
    </message>
    <message>
        <source>Compared are</source>
        <translation>Verglichen werden</translation>
    </message>
    <message>
        <source>One run is open. Open another beside it (Ctrl+Shift+O, or --compare) to compare them.</source>
        <translation>Ein Lauf ist geöffnet. Zum Vergleichen einen weiteren daneben öffnen (Strg+Umschalt+O oder --compare).</translation>
    </message>
    <message>
        <source>%1 and other files are one run: compare takes runs of one file, such as recordings.</source>
        <translation>%1 und weitere Dateien sind ein Lauf: Verglichen werden Läufe aus einer Datei, etwa Aufnahmen.</translation>
    </message>
    <message>
        <source>beside %1</source>
        <translation>neben %1</translation>
    </message>
    <message>
        <source>Comparing ...</source>
        <translation>Vergleiche ...</translation>
    </message>
    <message>
        <source>The losses are drawn once the runs are compared.</source>
        <translation>Die Loss-Kurven erscheinen, sobald die Läufe verglichen sind.</translation>
    </message>
    <message>
        <source>A: %1</source>
        <translation>A: %1</translation>
    </message>
    <message>
        <source>B: %1</source>
        <translation>B: %1</translation>
    </message>
    <message>
        <source>No loss of these steps is known.</source>
        <translation>Kein Loss dieser Schritte ist bekannt.</translation>
    </message>
    <message>
        <source>step %1: %2</source>
        <translation>Schritt %1: %2</translation>
    </message>
    <message>
        <source>step %1 of A: %2</source>
        <translation>Schritt %1 von A: %2</translation>
    </message>
    <message>
        <source>step %1 of B, the same loss</source>
        <translation>Schritt %1 von B, gleicher Loss</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>%1, step %2: loss %3</source>
        <translation>%1, Schritt %2: Loss %3</translation>
    </message>
    <message>
        <source>The losses of the first run and of the one in front, or the second, and the first step in which they differ by more than rounding or another order of sums explains, as ulp compare finds it; the sentences above say by how much and what that looks like. Steps of one loss are for runs that advance at different speeds: there sizes of gradients are held against what their ratio usually is, and the mark is at a step of each run. .csv and .json hold a row for each tensor.</source>
        <translation>Der Loss des ersten Laufs und des vorderen oder zweiten, und der erste Schritt, in dem sie sich um mehr unterscheiden, als Rundung oder eine andere Summationsreihenfolge erklärt, wie ulp compare ihn findet; die Sätze darüber sagen, um wie viel und wonach das aussieht. Schritte gleichen Loss sind für Läufe, die unterschiedlich schnell vorankommen: Dort werden die Größen der Gradienten an ihrem üblichen Verhältnis gemessen, und die Marke steht bei einem Schritt jedes Laufs. .csv und .json enthalten eine Zeile je Tensor.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::context_bar</name>
    <message>
        <source>Remove: %1</source>
        <translation>Entfernen: %1</translation>
    </message>
</context>
<context>
    <name>ulp::gui::document</name>
    <message>
        <source>Reading</source>
        <translation>Lesen</translation>
    </message>
    <message>
        <source>Replaying</source>
        <translation>Replay</translation>
    </message>
    <message>
        <source>Wait for the first run before comparing another with it</source>
        <translation>Vor dem Vergleich mit einem weiteren Lauf muss der erste gelesen sein</translation>
    </message>
    <message>
        <source>There are %1 replays: remove one first</source>
        <translation>Es gibt bereits %1 Replays: zuerst eines entfernen</translation>
    </message>
    <message>
        <source>Cancelled: change the scenario, or reload, to replay it</source>
        <translation>Abgebrochen: Szenario ändern oder neu laden, um das Replay zu berechnen</translation>
    </message>
</context>
<context>
    <name>ulp::gui::exponents_view</name>
    <message>
        <source>Exponents</source>
        <translation>Exponenten</translation>
    </message>
    <message>
        <source>What is lost at this step, and at which scale would it not be?</source>
        <translation>Was geht in diesem Schritt verloren, und bei welcher Skalierung nicht?</translation>
    </message>
    <message>
        <source>Loss scale</source>
        <translation>Loss-Skalierung</translation>
    </message>
    <message>
        <source>Follow replay</source>
        <translation>Wie im Replay</translation>
    </message>
    <message>
        <source>No scale</source>
        <translation>Keine</translation>
    </message>
    <message>
        <source>All steps shown</source>
        <translation>Alle gezeigten Schritte</translation>
    </message>
    <message>
        <source>Loss scale that is tried out, as a power of two</source>
        <translation>Erprobte Loss-Skalierung, als Zweierpotenz</translation>
    </message>
    <message>
        <source>Try out a loss scale; Ctrl+[ and Ctrl+] move it</source>
        <translation>Eine Loss-Skalierung erproben; Strg+[ und Strg+] verschieben sie</translation>
    </message>
    <message>
        <source>Use the scale of the replay in front again</source>
        <translation>Wieder die Skalierung des vorderen Replays verwenden</translation>
    </message>
    <message>
        <source>Try out training without a loss scale: 2^0</source>
        <translation>Training ohne Loss-Skalierung erproben: 2^0</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>steps %1 to %2</source>
        <translation>Schritte %1 bis %2</translation>
    </message>
    <message>
        <source>all %1 tensors</source>
        <translation>alle %1 Tensoren</translation>
    </message>
    <message>
        <source>%1 of %2 tensors</source>
        <translation>%1 von %2 Tensoren</translation>
    </message>
    <message>
        <source>lost %1, subnormal %2, normal %3, overflow %4</source>
        <translation>verloren %1, subnormal %2, normal %3, Überlauf %4</translation>
    </message>
    <message>
        <source>expected over all draws: lost %1, subnormal %2, overflow %3</source>
        <translation>Erwartungswert der Zufallsrundung: verloren %1, subnormal %2, Überlauf %3</translation>
    </message>
    <message>
        <source>%1 in %2 at %3: </source>
        <translation>%1 in %2 bei %3: </translation>
    </message>
    <message>
        <source>%1 of %2 nonzero values; %3 zeros, %4 not finite</source>
        <translation>%1 von %2 Werten ungleich null; %3 Nullen, %4 nicht endlich</translation>
    </message>
    <message>
        <source>. The replay used [%1, %2] in these steps</source>
        <translation>. Das Replay verwendete in diesen Schritten [%1, %2]</translation>
    </message>
    <message>
        <source>%1 zeros, and %2 that may be zero</source>
        <translation>%1 Nullen, und %2, die null sein können</translation>
    </message>
    <message>
        <source>%1 zeros</source>
        <translation>%1 Nullen</translation>
    </message>
    <message>
        <source>%1 infinite or NaN</source>
        <translation>%1 unendlich oder NaN</translation>
    </message>
    <message>
        <source>from 2^%1 to 2^%2: %3 gradients (%4 % of the nonzero)
at %5: %6</source>
        <translation>von 2^%1 bis 2^%2: %3 Gradienten (%4 % der Werte ungleich null)
bei %5: %6</translation>
    </message>
    <message>
        <source>0</source>
        <translation>0</translation>
    </message>
    <message>
        <source>inf, NaN</source>
        <translation>inf, NaN</translation>
    </message>
    <message>
        <source>%1 (log)</source>
        <translation>%1 (log)</translation>
    </message>
    <message>
        <source>The selected tensors hold no finite nonzero gradient at step %1.</source>
        <translation>Die ausgewählten Tensoren enthalten in Schritt %1 keinen endlichen Gradienten ungleich null.</translation>
    </message>
    <message>
        <source>%1, tried out</source>
        <translation>%1, erprobt</translation>
    </message>
    <message>
        <source>%1 of the replay</source>
        <translation>%1 des Replays</translation>
    </message>
    <message>
        <source>magnitude as recorded</source>
        <translation>Betrag wie aufgezeichnet</translation>
    </message>
    <message>
        <source>magnitude of the gradient</source>
        <translation>Betrag des Gradienten</translation>
    </message>
    <message>
        <source>gradients</source>
        <translation>Gradienten</translation>
    </message>
    <message>
        <source>may become zero</source>
        <translation>kann zu null werden</translation>
    </message>
    <message>
        <source>becomes zero</source>
        <translation>wird zu null</translation>
    </message>
    <message>
        <source>subnormal</source>
        <translation>subnormal</translation>
    </message>
    <message>
        <source>overflows</source>
        <translation>läuft über</translation>
    </message>
    <message>
        <source>zeros</source>
        <translation>Nullen</translation>
    </message>
    <message>
        <source>infinite or NaN</source>
        <translation>unendlich oder NaN</translation>
    </message>
    <message>
        <source>partly lost</source>
        <translation>teils verloren</translation>
    </message>
    <message>
        <source>the first replay&apos;s run</source>
        <translation>Lauf des ersten Replays</translation>
    </message>
    <message>
        <source>the first replay&apos;s run, mean of nearby steps</source>
        <translation>Lauf des ersten Replays, Mittel benachbarter Schritte</translation>
    </message>
    <message>
        <source>The number of gradients in each binade, at the cursor&apos;s step or over all steps shown. The bands show what the format makes of them at this loss scale: zero, subnormal, normal (plain), overflow. They move with the scale; the bars stay. A hatched bar is cut by a limit: part of it is lost. With stochastic rounding all values below the smallest number may become zero; the line above tells the expected share and its standard deviation. Zeros are at the left end, infinities and NaN at the right end. The bars below show what other formats hold at the same scale; the thin part is subnormal. Of a format whose blocks share a scale, chosen at the left, values are counted by how far they lie from the scale of their block, which takes block tables (ulp record --blocks): the bands stay, and a loss scale changes nothing. Without them no more is drawn than what the largest value of each tensor tells.</source>
        <translation>Die Anzahl der Gradienten in jeder Binade, beim Schritt des Cursors oder über alle gezeigten Schritte. Die Bänder zeigen, was das Format bei dieser Loss-Skalierung aus ihnen macht: null, subnormal, normal (ohne Farbe), Überlauf. Sie wandern mit der Skalierung; die Balken bleiben stehen. Einen schraffierten Balken schneidet eine Grenze: Ein Teil von ihm geht verloren. Bei stochastischem Runden kann jeder Wert unter der kleinsten Zahl zu null werden; die Zeile darüber nennt den erwarteten Anteil und seine Standardabweichung. Nullen stehen am linken Ende, Unendlich und NaN am rechten. Die Balken darunter zeigen, was andere Formate bei derselben Skalierung darstellen; der dünne Teil ist subnormal. Bei einem links gewählten Format, dessen Blöcke eine Skalierung teilen, werden die Werte danach gezählt, wie weit sie von der Skalierung ihres Blocks entfernt sind; das setzt Blocktabellen voraus (ulp record --blocks): Die Bänder bleiben stehen, und eine Loss-Skalierung ändert nichts. Ohne sie wird nur gezeichnet, was der größte Wert jedes Tensors verrät.</translation>
    </message>
    <message>
        <source>%1 in %2: %3.</source>
        <translation>%1 in %2: %3.</translation>
    </message>
    <message>
        <source>Counting ...</source>
        <translation>Zähle ...</translation>
    </message>
    <message>
        <source>magnitude over %1</source>
        <translation>Betrag geteilt durch %1</translation>
    </message>
    <message>
        <source>values</source>
        <translation>Werte</translation>
    </message>
    <message>
        <source>saturates</source>
        <translation>sättigt</translation>
    </message>
    <message>
        <source>in one of two binades</source>
        <translation>in einer von zwei Binaden</translation>
    </message>
    <message>
        <source>from 2^%1 to 2^%2 times %3: %4 values</source>
        <translation>von 2^%1 bis 2^%2 mal %3: %4 Werte</translation>
    </message>
</context>
<context>
    <name>ulp::gui::formats_view</name>
    <message>
        <source>Formats</source>
        <translation>Formate</translation>
    </message>
    <message>
        <source>Which format suffices, and at which static scale?</source>
        <translation>Welches Format reicht, und bei welcher statischen Skalierung?</translation>
    </message>
    <message>
        <source>Each &amp;tensor</source>
        <translation>Je &amp;Tensor</translation>
    </message>
    <message>
        <source>Beside &amp;blocks</source>
        <translation>Mit Bl&amp;ockformaten</translation>
    </message>
    <message>
        <source>For each tensor the smallest format that suffices, and the static scales for every format</source>
        <translation>Für jeden Tensor das kleinste Format, das reicht, und die statischen Skalierungen für jedes Format</translation>
    </message>
    <message>
        <source>Share that may be lost</source>
        <translation>Anteil, der verloren gehen darf</translation>
    </message>
    <message>
        <source>The share that may underflow, as ulp advise --epsilon; 1e-5 unless you change it</source>
        <translation>Der Anteil, der unterlaufen darf, wie ulp advise --epsilon; 1e-5, wenn nichts anderes angegeben ist</translation>
    </message>
    <message>
        <source>of the magnitude</source>
        <translation>des Betrags</translation>
    </message>
    <message>
        <source>of the values</source>
        <translation>der Werte</translation>
    </message>
    <message>
        <source>Share of what</source>
        <translation>Anteil woran</translation>
    </message>
    <message>
        <source>Magnitude: the sum of |x| of what underflows, as ulp advise judges. Values: how many underflow.</source>
        <translation>Betrag: die Summe der |x| von dem, was unterläuft, wie ulp advise urteilt. Werte: wie viele unterlaufen.</translation>
    </message>
    <message>
        <source>Formats whose blocks share a scale, beside the others: what each makes of the values</source>
        <translation>Auch Formate, deren Blöcke eine Skalierung teilen: was jedes aus den Werten macht</translation>
    </message>
    <message>
        <source>Formats of blocks</source>
        <translation>Blockformate</translation>
    </message>
    <message>
        <source>the usual ones; or mxfp4, te_nvfp4_16x16 ...</source>
        <translation>die üblichen; oder mxfp4, te_nvfp4_16x16 ...</translation>
    </message>
    <message>
        <source>Names of ulp formats --blocks, with commas between them</source>
        <translation>Namen aus ulp formats --blocks, durch Kommas getrennt</translation>
    </message>
    <message>
        <source>May lose</source>
        <translation>Darf fehlen</translation>
    </message>
    <message>
        <source>No step is shown.</source>
        <translation>Kein Schritt wird gezeigt.</translation>
    </message>
    <message>
        <source>Steps %1 to %2.</source>
        <translation>Schritte %1 bis %2.</translation>
    </message>
    <message>
        <source>Steps %1 to %2 are counted: the columns that hold the steps shown, %3 to %4.</source>
        <translation>Gezählt werden die Schritte %1 bis %2: die Spalten, in denen die gezeigten Schritte %3 bis %4 liegen.</translation>
    </message>
    <message>
        <source>Left out, as on the Overview: those from %1 on, when the run was lost.</source>
        <translation>Ausgelassen, wie in der Übersicht: die Schritte ab %1, als der Lauf verloren war.</translation>
    </message>
    <message>
        <source>If the run was lost at some step, those after it are counted, too.</source>
        <translation>War der Lauf ab einem Schritt verloren, werden die Schritte danach mitgezählt.</translation>
    </message>
    <message>
        <source>The run had been lost by then, in step %1.</source>
        <translation>Der Lauf war da schon verloren, seit Schritt %1.</translation>
    </message>
    <message>
        <source>Of the selected tensors.</source>
        <translation>Der ausgewählten Tensoren.</translation>
    </message>
    <message>
        <source>Of the gradients.</source>
        <translation>Der Gradienten.</translation>
    </message>
    <message>
        <source>Overflow is that of the tensors checked by default.</source>
        <translation>Der Überlauf ist der von Tensoren, die standardmäßig geprüft werden.</translation>
    </message>
    <message>
        <source>A format suffices if at most %1 % of %2 underflows and no finite step overflows.</source>
        <translation>Ein Format reicht, wenn höchstens %1 % %2 unterlaufen und kein endlicher Schritt überläuft.</translation>
    </message>
    <message>
        <source>the magnitude</source>
        <translation>des Betrags</translation>
    </message>
    <message>
        <source>the nonzero values</source>
        <translation>der Werte ungleich null</translation>
    </message>
    <message>
        <source>Steps %1 to %2, </source>
        <translation>Schritte %1 bis %2, </translation>
    </message>
    <message>
        <source>%1 tensors</source>
        <translation>%1 Tensoren</translation>
    </message>
    <message>
        <source>: formats without blocks at the loss scale %1; blocks choose their own scale. Bits are of a value with its share of the scale; least and largest numbers are times the scale.</source>
        <translation>: Formate ohne Blöcke bei der Loss-Skalierung %1; Blöcke wählen ihre eigene Skalierung. Die Bits eines Werts schließen seinen Anteil an der Skalierung ein; kleinste und größte Zahl sind ein Vielfaches der Skalierung.</translation>
    </message>
    <message>
        <source>Not counted (?), %1: %2.</source>
        <translation>Nicht gezählt (?), %1: %2.</translation>
    </message>
    <message>
        <source>Counting ...</source>
        <translation>Zähle ...</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is not a share that may be lost: give a number above 0 and below 1, such as 1e-5.</source>
        <translation>„%1“ ist kein Anteil, der verloren gehen darf: Eine Zahl über 0 und unter 1 angeben, etwa 1e-5.</translation>
    </message>
    <message>
        <source>What each format does to the gradients of the steps shown: whether they need a loss scale in it, and the static scales that suffice, as ulp advise answers for these steps: what comes after the run was lost is left out. Where a run has several kinds of gradients, the kind that asks for the highest scale decides. Beside no scale (1), losses are told at the scale under the cursor, or at the one that you try. Rounding is each format&apos;s own. A range means that the input leaves it open. Each tensor lists the smallest format that holds a tensor without a loss scale; the tensors that fit fewest formats come first. Beside blocks lists formats whose blocks share a scale as well: bits with the share of the scale, which numbers there are, whose scale it is and how it follows, and how many values are lost to zero, subnormal and beyond the largest number. These counts are exact, or ranges; where they take block tables that the input lacks (ulp record --blocks) there is a question mark. Click a header to sort; Ctrl+C copies the selected rows.</source>
        <translation>Was jedes Format aus den Gradienten der gezeigten Schritte macht: ob sie darin eine Loss-Skalierung brauchen, und welche statischen Skalierungen reichen, wie ulp advise für diese Schritte antwortet: Was nach dem Verlust des Laufs kommt, bleibt außen vor. Hat ein Lauf mehrere Arten von Gradienten, entscheidet die Art, die die höchste Skalierung verlangt. Neben den Verlusten ohne Skalierung (1) stehen die bei der Skalierung unter dem Cursor oder der erprobten. Gerundet wird, wie es das jeweilige Format tut. Ein Bereich bedeutet, dass die Eingabe den Wert offen lässt. „Je Tensor“ nennt das kleinste Format, das einen Tensor ohne Loss-Skalierung darstellt; zuerst kommen die Tensoren, die in die wenigsten Formate passen. „Mit Blockformaten“ nennt auch Formate, deren Blöcke eine Skalierung teilen: Bits samt Anteil an der Skalierung, welche Zahlen es gibt, wozu die Skalierung gehört und woraus sie folgt, und wie viele Werte zu null, subnormal und jenseits der größten Zahl verloren gehen. Diese Anzahlen sind exakt oder Bereiche; wo sie Blocktabellen voraussetzen, die der Eingabe fehlen (ulp record --blocks), steht ein Fragezeichen. Ein Klick auf eine Spaltenüberschrift sortiert; Strg+C kopiert die ausgewählten Zeilen.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::inspector</name>
    <message>
        <source>Where the run and its replay come from</source>
        <translation>Woher der Lauf und sein Replay stammen</translation>
    </message>
    <message>
        <source>Input</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source> and %1 more</source>
        <translation> und %1 weitere</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>Art</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Lauf</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>Rang</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>Scale of</source>
        <translation>Skala</translation>
    </message>
    <message>
        <source>the values as recorded: their factor is not known</source>
        <translation>die Werte wie aufgezeichnet: ihr Faktor ist nicht bekannt</translation>
    </message>
    <message>
        <source>the true gradient</source>
        <translation>die echten Gradienten</translation>
    </message>
    <message>
        <source> (default)</source>
        <translation> (Vorgabe)</translation>
    </message>
    <message>
        <source>Scaler</source>
        <translation>Scaler</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Source</source>
        <translation>Quelle</translation>
    </message>
    <message>
        <source>Scenario</source>
        <translation>Szenario</translation>
    </message>
    <message>
        <source>Overflow is looked for in</source>
        <translation>Überlauf wird gesucht in</translation>
    </message>
</context>
<context>
    <name>ulp::gui::layers_view</name>
    <message>
        <source>Layers</source>
        <translation>Schichten</translation>
    </message>
    <message>
        <source>Which tensors lose gradients, and when?</source>
        <translation>Welche Tensoren verlieren Gradienten, und wann?</translation>
    </message>
    <message>
        <source>By module</source>
        <translation>Nach Modulen</translation>
    </message>
    <message>
        <source>Metric</source>
        <translation>Metrik</translation>
    </message>
    <message>
        <source>Format that weights are kept in</source>
        <translation>Format, in dem die Gewichte gehalten werden</translation>
    </message>
    <message>
        <source>FP8 recipe</source>
        <translation>FP8-Rezept</translation>
    </message>
    <message>
        <source>Kind of tensors</source>
        <translation>Art der Tensoren</translation>
    </message>
    <message>
        <source>List modules, with the sums of what is in them, rather than tensors, the worst first</source>
        <translation>Statt Tensoren Module mit den Summen ihrer Inhalte aufführen, die schlimmsten zuerst</translation>
    </message>
    <message>
        <source>filter tensors: a regular expression</source>
        <translation>Tensoren filtern: ein regulärer Ausdruck</translation>
    </message>
    <message>
        <source>Filter of tensors</source>
        <translation>Filter der Tensoren</translation>
    </message>
    <message>
        <source>Rows</source>
        <translation>Zeilen</translation>
    </message>
    <message>
        <source>kept in %1, as replayed</source>
        <translation>gehalten in %1, wie im Replay</translation>
    </message>
    <message>
        <source>kept in %1</source>
        <translation>gehalten in %1</translation>
    </message>
    <message>
        <source>all kinds</source>
        <translation>alle Arten</translation>
    </message>
    <message>
        <source>This policy gives each layer a scale of its own: try out a scale (Ctrl+Up), or see ulp replay --per-tensor.</source>
        <translation>Diese Strategie gibt jeder Schicht eine eigene Skalierung: eine Skalierung erproben (Strg+Hoch) oder siehe ulp replay --per-tensor.</translation>
    </message>
    <message>
        <source>The replay failed: %1</source>
        <translation>Das Replay ist fehlgeschlagen: %1</translation>
    </message>
    <message>
        <source>Counting ...</source>
        <translation>Zähle ...</translation>
    </message>
    <message>
        <source>Waiting for the replay ...</source>
        <translation>Warte auf das Replay ...</translation>
    </message>
    <message>
        <source>in %1 at %2</source>
        <translation>in %1 bei %2</translation>
    </message>
    <message>
        <source>2^%1, tried out</source>
        <translation>2^%1, erprobt</translation>
    </message>
    <message>
        <source>the replay&apos;s scale (%1)</source>
        <translation>der Skalierung des Replays (%1)</translation>
    </message>
    <message>
        <source>; only %1</source>
        <translation>; nur %1</translation>
    </message>
    <message>
        <source>; only names that match %1</source>
        <translation>; nur Namen, auf die %1 passt</translation>
    </message>
    <message>
        <source>The recording holds the scales of its own run, of tensors that it has no histograms of: Tensor scales replays them.</source>
        <translation>Die Aufnahme enthält die Skalierungen ihres eigenen Laufs von Tensoren, von denen sie keine Histogramme hat: Ihr Replay steht unter „Tensorskalen“.</translation>
    </message>
    <message>
        <source>No nonzero update of weights was recorded in these steps</source>
        <translation>In diesen Schritten wurde kein Update von Gewichten ungleich null aufgezeichnet</translation>
    </message>
    <message>
        <source>No tensor is cast under %1</source>
        <translation>Unter %1 wird kein Tensor gewandelt</translation>
    </message>
    <message>
        <source>No tensor holds gradients</source>
        <translation>Kein Tensor enthält Gradienten</translation>
    </message>
    <message>
        <source>; no loss scale multiplies these tensors</source>
        <translation>; keine Loss-Skalierung multipliziert diese Tensoren</translation>
    </message>
    <message>
        <source>; values as recorded, since the factor of some is not known</source>
        <translation>; Werte wie aufgezeichnet, da der Faktor mancher nicht bekannt ist</translation>
    </message>
    <message>
        <source>steps shown: %1</source>
        <translation>gezeigte Schritte: %1</translation>
    </message>
    <message>
        <source>worst, step %1: %2</source>
        <translation>am schlimmsten, Schritt %1: %2</translation>
    </message>
    <message>
        <source>worst, steps %1 to %2: %3</source>
        <translation>am schlimmsten, Schritte %1 bis %2: %3</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>steps %1 to %2</source>
        <translation>Schritte %1 bis %2</translation>
    </message>
    <message>
        <source>%1, %2: %3</source>
        <translation>%1, %2: %3</translation>
    </message>
    <message>
        <source>Each row is a tensor, the worst at the top, or a module with the sum of what is in it. The colour shows the metric at each step, of a range its worse end, on a logarithmic scale for shares of values. The numbers are the worst column, the first step at which anything is lost (of headroom: at which it is below 0), and all steps shown; [low, high] is a range that the input or a changing loss scale leaves open, and ~ marks a model. Hatched: the tensor has no finite nonzero value, or was not recorded. Updates lost need joint tables of weights and updates, or dumps of both; no loss scale matters there. What saturates, and which scales are stale, is of a replay under the FP8 recipe beside the metric, of the tensors that it casts; its parameters are set in Tensor scales. The wheel scrolls rows, with Ctrl it zooms; arrow keys move the current row and open and close modules; Enter or a double click selects a tensor in all views.</source>
        <translation>Jede Zeile ist ein Tensor, der schlimmste oben, oder ein Modul mit der Summe seiner Inhalte. Die Farbe zeigt die Metrik in jedem Schritt, von einem Bereich das schlimmere Ende, für Anteile von Werten auf logarithmischer Skala. Die Zahlen sind die schlimmste Spalte, der erste Schritt, in dem etwas verloren geht (bei der Reserve: in dem sie unter 0 liegt), und alle gezeigten Schritte; [unten, oben] ist ein Bereich, den die Eingabe oder eine wechselnde Loss-Skalierung offen lässt, und ~ kennzeichnet ein Modell. Schraffiert: Der Tensor hat keinen endlichen Wert ungleich null oder wurde nicht aufgezeichnet. Verlorene Updates setzen gemeinsame Tabellen von Gewichten und Updates oder Dumps von beiden voraus; eine Loss-Skalierung spielt dort keine Rolle. Was sättigt und welche Skalierungen veraltet sind, stammt aus einem Replay unter dem FP8-Rezept neben der Metrik, von den Tensoren, die es wandelt; seine Parameter werden unter „Tensorskalen“ eingestellt. Das Mausrad rollt die Zeilen, mit Strg zoomt es; die Pfeiltasten bewegen die aktuelle Zeile und öffnen und schließen Module; Eingabe oder ein Doppelklick wählt einen Tensor in allen Ansichten aus.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::main_window</name>
    <message>
        <source>Replay</source>
        <translation>Replay</translation>
    </message>
    <message>
        <source>Inspector</source>
        <translation>Inspektor</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Not drawn finer: %1</source>
        <translation>Nicht feiner gezeichnet: %1</translation>
    </message>
    <message>
        <source> and </source>
        <translation> und </translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>%1: no file in this folder is named like a recording, a dump or a log</source>
        <translation>%1: Keine Datei in diesem Ordner heißt wie eine Aufnahme, ein Dump oder ein Log</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>Ordner öffnen</translation>
    </message>
    <message>
        <source>The folder holds several runs. Open:</source>
        <translation>Der Ordner enthält mehrere Läufe. Öffnen:</translation>
    </message>
    <message>
        <source>These are %1 replays; at most %2 can be compared</source>
        <translation>Das sind %1 Replays; höchstens %2 lassen sich vergleichen</translation>
    </message>
    <message>
        <source>Open a run</source>
        <translation>Einen Lauf öffnen</translation>
    </message>
    <message>
        <source>Open a folder</source>
        <translation>Einen Ordner öffnen</translation>
    </message>
    <message>
        <source>Compare with another run</source>
        <translation>Mit einem anderen Lauf vergleichen</translation>
    </message>
    <message>
        <source>Export the view</source>
        <translation>Die Ansicht exportieren</translation>
    </message>
    <message>
        <source>Pictures (*.png *.svg *.pdf);;Numbers (*.csv *.json)</source>
        <translation>Bilder (*.png *.svg *.pdf);;Zahlen (*.csv *.json)</translation>
    </message>
    <message>
        <source>Wrote %1</source>
        <translation>%1 geschrieben</translation>
    </message>
    <message>
        <source>Save the session</source>
        <translation>Die Sitzung speichern</translation>
    </message>
    <message>
        <source>Sessions (*.json)</source>
        <translation>Sitzungen (*.json)</translation>
    </message>
    <message>
        <source>none yet</source>
        <translation>noch keine</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Open...</source>
        <translation>Ö&amp;ffnen...</translation>
    </message>
    <message>
        <source>Open &amp;folder...</source>
        <translation>Ordner öff&amp;nen...</translation>
    </message>
    <message>
        <source>&amp;Compare with...</source>
        <translation>&amp;Vergleichen mit...</translation>
    </message>
    <message>
        <source>Ctrl+Shift+O</source>
        <translation>Ctrl+Shift+O</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>&amp;Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>Re&amp;load</source>
        <translation>Neu &amp;laden</translation>
    </message>
    <message>
        <source>&amp;Watch while it grows</source>
        <translation>Wachsende Datei &amp;beobachten</translation>
    </message>
    <message>
        <source>Load confi&amp;guration...</source>
        <translation>&amp;Konfiguration laden...</translation>
    </message>
    <message>
        <source>Sa&amp;ve session...</source>
        <translation>&amp;Sitzung speichern...</translation>
    </message>
    <message>
        <source>&amp;Export view...</source>
        <translation>Ansicht &amp;exportieren...</translation>
    </message>
    <message>
        <source>Ctrl+E</source>
        <translation>Ctrl+E</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>Been&amp;den</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Rückgängig</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>&amp;Wiederholen</translation>
    </message>
    <message>
        <source>Ctrl+Z</source>
        <translation>Ctrl+Z</translation>
    </message>
    <message>
        <source>Ctrl+Shift+Z</source>
        <translation>Ctrl+Shift+Z</translation>
    </message>
    <message>
        <source>Copy &amp;picture</source>
        <translation>B&amp;ild kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation>Ctrl+Shift+C</translation>
    </message>
    <message>
        <source>Copy &amp;table</source>
        <translation>&amp;Tabelle kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Shift+T</source>
        <translation>Ctrl+Shift+T</translation>
    </message>
    <message>
        <source>Copy &amp;command</source>
        <translation>Be&amp;fehl kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Shift+L</source>
        <translation>Ctrl+Shift+L</translation>
    </message>
    <message>
        <source>Copied the command</source>
        <translation>Befehl kopiert</translation>
    </message>
    <message>
        <source>&amp;Go</source>
        <translation>&amp;Gehe zu</translation>
    </message>
    <message>
        <source>&amp;Go to step...</source>
        <translation>&amp;Gehe zu Schritt...</translation>
    </message>
    <message>
        <source>Ctrl+G</source>
        <translation>Ctrl+G</translation>
    </message>
    <message>
        <source>Next step</source>
        <translation>Nächster Schritt</translation>
    </message>
    <message>
        <source>Alt+Right</source>
        <translation>Alt+Right</translation>
    </message>
    <message>
        <source>Previous step</source>
        <translation>Vorheriger Schritt</translation>
    </message>
    <message>
        <source>Alt+Left</source>
        <translation>Alt+Left</translation>
    </message>
    <message>
        <source>100 steps on</source>
        <translation>100 Schritte vor</translation>
    </message>
    <message>
        <source>Alt+Shift+Right</source>
        <translation>Alt+Shift+Right</translation>
    </message>
    <message>
        <source>100 steps back</source>
        <translation>100 Schritte zurück</translation>
    </message>
    <message>
        <source>Alt+Shift+Left</source>
        <translation>Alt+Shift+Left</translation>
    </message>
    <message>
        <source>Next skipped step</source>
        <translation>Nächster übersprungener Schritt</translation>
    </message>
    <message>
        <source>Ctrl+N</source>
        <translation>Ctrl+N</translation>
    </message>
    <message>
        <source>Previous skipped step</source>
        <translation>Vorheriger übersprungener Schritt</translation>
    </message>
    <message>
        <source>Ctrl+P</source>
        <translation>Ctrl+P</translation>
    </message>
    <message>
        <source>Zoom in at the cursor</source>
        <translation>Am Cursor vergrößern</translation>
    </message>
    <message>
        <source>Alt+Up</source>
        <translation>Alt+Up</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>Verkleinern</translation>
    </message>
    <message>
        <source>Alt+Down</source>
        <translation>Alt+Down</translation>
    </message>
    <message>
        <source>All steps</source>
        <translation>Alle Schritte</translation>
    </message>
    <message>
        <source>Ctrl+0</source>
        <translation>Ctrl+0</translation>
    </message>
    <message>
        <source>Undo zoom and filter</source>
        <translation>Zoom und Filter rückgängig machen</translation>
    </message>
    <message>
        <source>Try a larger scale</source>
        <translation>Größere Skalierung erproben</translation>
    </message>
    <message>
        <source>Ctrl+Up</source>
        <translation>Ctrl+Up</translation>
    </message>
    <message>
        <source>Ctrl+]</source>
        <translation>Ctrl+]</translation>
    </message>
    <message>
        <source>Try a smaller scale</source>
        <translation>Kleinere Skalierung erproben</translation>
    </message>
    <message>
        <source>Ctrl+Down</source>
        <translation>Ctrl+Down</translation>
    </message>
    <message>
        <source>Ctrl+[</source>
        <translation>Ctrl+[</translation>
    </message>
    <message>
        <source>Follow the replay&apos;s scale</source>
        <translation>Skalierung des Replays folgen</translation>
    </message>
    <message>
        <source>Ctrl+L</source>
        <translation>Ctrl+L</translation>
    </message>
    <message>
        <source>Ctrl+=</source>
        <translation>Ctrl+=</translation>
    </message>
    <message>
        <source>&amp;Replays</source>
        <translation>&amp;Replays</translation>
    </message>
    <message>
        <source>To the front: replay %1</source>
        <translation>Nach vorn: Replay %1</translation>
    </message>
    <message>
        <source>Compare the others with the one in front</source>
        <translation>Die anderen mit dem vorderen vergleichen</translation>
    </message>
    <message>
        <source>Ctrl+B</source>
        <translation>Ctrl+B</translation>
    </message>
    <message>
        <source>Next format</source>
        <translation>Nächstes Format</translation>
    </message>
    <message>
        <source>Ctrl+Shift+F</source>
        <translation>Ctrl+Shift+F</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>&amp;Filter tensors</source>
        <translation>Tensoren &amp;filtern</translation>
    </message>
    <message>
        <source>Ctrl+F</source>
        <translation>Ctrl+F</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>Farb&amp;schema</translation>
    </message>
    <message>
        <source>&amp;System</source>
        <translation>&amp;System</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>&amp;Hell</translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation>&amp;Dunkel</translation>
    </message>
    <message>
        <source>&amp;High contrast</source>
        <translation>Hoher &amp;Kontrast</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;What is this view?</source>
        <translation>&amp;Was zeigt diese Ansicht?</translation>
    </message>
    <message>
        <source>&amp;About</source>
        <translation>Ü&amp;ber ulpscope</translation>
    </message>
    <message>
        <source>What 16 bits do to the gradients of a training run, exactly.

The viewer is under the GPL 3, as Qt Charts is; the libraries are under the Apache License 2.0.</source>
        <translation>Was 16 Bit mit den Gradienten eines Trainingslaufs machen, exakt.

Der Viewer steht wie Qt Charts unter der GPL 3; die Bibliotheken stehen unter der Apache License 2.0.</translation>
    </message>
    <message>
        <source>Go to step</source>
        <translation>Gehe zu Schritt</translation>
    </message>
    <message>
        <source>Step, %1 to %2:</source>
        <translation>Schritt, %1 bis %2:</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is not a step</source>
        <translation>„%1“ ist kein Schritt</translation>
    </message>
    <message>
        <source>Copied the picture</source>
        <translation>Bild kopiert</translation>
    </message>
    <message>
        <source>Copied the table</source>
        <translation>Tabelle kopiert</translation>
    </message>
</context>
<context>
    <name>ulp::gui::overview_view</name>
    <message>
        <source>Overview</source>
        <translation>Übersicht</translation>
    </message>
    <message>
        <source>What happened in this run, and what should change?</source>
        <translation>Was ist in diesem Lauf passiert, und was sollte sich ändern?</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Hinweise</translation>
    </message>
    <message>
        <source>Replays</source>
        <translation>Replays</translation>
    </message>
    <message>
        <source>Double-click a number for the view that explains it</source>
        <translation>Ein Doppelklick auf eine Zahl öffnet die Ansicht, die sie erklärt</translation>
    </message>
    <message>
        <source>In FP8</source>
        <translation>In FP8</translation>
    </message>
    <message>
        <source>The recording holds the scales of its own run: choose its recipe and parameters in Tensor scales, or with --recipe and --set, to replay it against them.</source>
        <translation>Die Aufnahme enthält die Skalierungen ihres eigenen Laufs: Rezept und Parameter unter „Tensorskalen“ oder mit --recipe und --set wählen, um ein Replay dagegenzuhalten.</translation>
    </message>
    <message>
        <source>%1 is being replayed ...</source>
        <translation>Replay von %1 läuft ...</translation>
    </message>
    <message>
        <source>%1 cannot be replayed: %2</source>
        <translation>%1 hat kein Replay: %2</translation>
    </message>
    <message>
        <source>under %1: %2</source>
        <translation>mit %1: %2</translation>
    </message>
    <message>
        <source>No story</source>
        <translation>Keine Geschichte</translation>
    </message>
    <message>
        <source>Not judged yet</source>
        <translation>Noch nicht beurteilt</translation>
    </message>
    <message>
        <source>It is not known whether these values were multiplied by a loss scale: nothing is concluded before that is said.</source>
        <translation>Es ist nicht bekannt, ob diese Werte mit einer Loss-Skalierung multipliziert wurden: Solange das offen ist, wird nichts gefolgert.</translation>
    </message>
    <message>
        <source>What to do</source>
        <translation>Was zu tun ist</translation>
    </message>
    <message>
        <source>Answer the question above the views, or open the run with --factor or --scalars.</source>
        <translation>Die Frage über den Ansichten beantworten, oder den Lauf mit --factor oder --scalars öffnen.</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>Was passiert ist</translation>
    </message>
    <message>
        <source>The run is being judged ...</source>
        <translation>Der Lauf wird beurteilt ...</translation>
    </message>
    <message>
        <source>Not judged</source>
        <translation>Nicht beurteilt</translation>
    </message>
    <message>
        <source>Under this replay</source>
        <translation>In diesem Replay</translation>
    </message>
    <message>
        <source>What to change</source>
        <translation>Was zu ändern ist</translation>
    </message>
    <message>
        <source>How sure</source>
        <translation>Wie sicher</translation>
    </message>
    <message>
        <source>Left out below</source>
        <translation>Unten ausgelassen</translation>
    </message>
    <message>
        <source>the steps from %1 on, when the run was lost</source>
        <translation>die Schritte ab %1, als der Lauf verloren war</translation>
    </message>
    <message>
        <source>All clear. </source>
        <translation>Alles in Ordnung. </translation>
    </message>
    <message>
        <source> Bars are logarithmic, from 0.0001 to 100 %.</source>
        <translation> Die Balken sind logarithmisch, von 0.0001 bis 100 %.</translation>
    </message>
    <message>
        <source>Gradients by exponent, and what %1 keeps of them</source>
        <translation>Gradienten nach Exponent, und was %1 davon behält</translation>
    </message>
    <message>
        <source>%1 of %2 findings; all of them are in the window</source>
        <translation>%1 von %2 Befunden; alle stehen im Fenster</translation>
    </message>
    <message>
        <source>%1 of %2 findings; all of them are in ulp advise and in the window</source>
        <translation>%1 von %2 Befunden; alle stehen in ulp advise und im Fenster</translation>
    </message>
    <message>
        <source>one more column</source>
        <translation>eine weitere Spalte</translation>
    </message>
    <message>
        <source>%1 more columns</source>
        <translation>%1 weitere Spalten</translation>
    </message>
    <message>
        <source>At the top: what happened, what to change, how sure that is, as ulp advise has it. Each card is a finding, the worst first; a click opens the view, step and tensor that show it. Below are the gradients of the run, and a row per replay: double-click a number to open the view that explains it.</source>
        <translation>Oben: was passiert ist, was zu ändern ist und wie sicher das ist, wie ulp advise es sagt. Jede Karte ist ein Befund, der schlimmste zuerst; ein Klick öffnet die Ansicht, den Schritt und den Tensor, die ihn zeigen. Darunter stehen die Gradienten des Laufs und eine Zeile je Replay: Ein Doppelklick auf eine Zahl öffnet die Ansicht, die sie erklärt.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::plan_view</name>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
    <message>
        <source>In how few bits could each tensor be kept, and in which format?</source>
        <translation>Mit wie wenigen Bits käme jeder Tensor aus, und in welchem Format?</translation>
    </message>
    <message>
        <source>Hardware</source>
        <translation>Hardware</translation>
    </message>
    <message>
        <source>Share of the energy that may be lost</source>
        <translation>Anteil der Energie, der verloren gehen darf</translation>
    </message>
    <message>
        <source>The share of a tensor&apos;s energy, its sum of squares, that may be lost in any step</source>
        <translation>Der Anteil der Energie eines Tensors, seiner Quadratsumme, der in einem Schritt verloren gehen darf</translation>
    </message>
    <message>
        <source>May lose</source>
        <translation>Darf fehlen</translation>
    </message>
    <message>
        <source>plan for %1</source>
        <translation>Plan für %1</translation>
    </message>
    <message>
        <source>Planning ...</source>
        <translation>Plane ...</translation>
    </message>
    <message>
        <source>The plan of ulp plan for the whole run: each tensor in the fewest bits that lose at most the given share of its energy in every step, on the chosen hardware. Kind by kind, cells are tensors in the order of the network, as long as they have elements, and their colour is the kind of treatment. Point at one to see what it loses and why nothing cheaper holds; click it to select the tensor in all views.</source>
        <translation>Der Plan von ulp plan für den ganzen Lauf: jeder Tensor in den wenigsten Bits, die auf der gewählten Hardware in jedem Schritt höchstens den angegebenen Anteil seiner Energie verlieren. Die Zellen sind, Art für Art, die Tensoren in der Reihenfolge des Netzes, so lang wie ihre Anzahl von Elementen, und ihre Farbe ist die Art der Behandlung. Unter dem Mauszeiger steht, was ein Tensor verliert und warum nichts Billigeres reicht; ein Klick wählt ihn in allen Ansichten aus.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::policies_view</name>
    <message>
        <source>regret, in steps</source>
        <translation>Regret, in Schritten</translation>
    </message>
    <message>
        <source>free regret, in steps</source>
        <translation>freier Regret, in Schritten</translation>
    </message>
    <message>
        <source>skipped steps</source>
        <translation>übersprungene Schritte</translation>
    </message>
    <message>
        <source>underflow, share of nonzero</source>
        <translation>Unterlauf, Anteil an Werten ≠ 0</translation>
    </message>
    <message>
        <source>lost magnitude, in steps</source>
        <translation>verlorener Betrag, in Schritten</translation>
    </message>
    <message>
        <source>Policies</source>
        <translation>Strategien</translation>
    </message>
    <message>
        <source>Which parameters of the policy would have done best?</source>
        <translation>Welche Parameter der Strategie wären am besten gewesen?</translation>
    </message>
    <message>
        <source>&amp;Sweep</source>
        <translation>&amp;Sweep</translation>
    </message>
    <message>
        <source>Values</source>
        <translation>Werte</translation>
    </message>
    <message>
        <source>Colour</source>
        <translation>Farbe</translation>
    </message>
    <message>
        <source>parameter=value,value,... parameter=value,...</source>
        <translation>parameter=wert,wert,... parameter=wert,...</translation>
    </message>
    <message>
        <source>Values of the parameters to try</source>
        <translation>Zu erprobende Werte der Parameter</translation>
    </message>
    <message>
        <source>What the colours of the map tell</source>
        <translation>Was die Farben der Karte bedeuten</translation>
    </message>
    <message>
        <source>Replaying the grid: %1 %</source>
        <translation>Replays des Gitters: %1 %</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is not parameter=value,value</source>
        <translation>„%1“ ist nicht parameter=wert,wert</translation>
    </message>
    <message>
        <source>&apos;%1&apos; has no values</source>
        <translation>„%1“ hat keine Werte</translation>
    </message>
    <message>
        <source>Press Sweep, or Enter in the field, to replay every combination of these values with the policy in front.</source>
        <translation>Sweep oder die Eingabetaste im Feld berechnet ein Replay jeder Kombination dieser Werte mit der vorderen Strategie.</translation>
    </message>
    <message>
        <source>This sweep is of %1, which is no longer in front as it was. Press Sweep for the replay in front.</source>
        <translation>Dieser Sweep gilt für %1, das so nicht mehr vorn ist. Sweep drücken, um das vordere Replay zu nehmen.</translation>
    </message>
    <message>
        <source>Least regret: %1 with %2</source>
        <translation>Kleinster Regret: %1 mit %2</translation>
    </message>
    <message>
        <source>, and as little with %1 others</source>
        <translation>, und gleich wenig mit %1 anderen</translation>
    </message>
    <message>
        <source>%1 policies. First come those with a star, which no other beats in both skipped steps and underflow; among them, and among the rest, the order is by skipped steps, then underflow.</source>
        <translation>%1 Strategien. Zuerst kommen die mit Stern, die keine andere in übersprungenen Schritten und Unterlauf zugleich schlägt; unter ihnen wie unter den übrigen gilt die Reihenfolge nach übersprungenen Schritten, dann Unterlauf.</translation>
    </message>
    <message>
        <source> Regret is not known: %1.</source>
        <translation> Der Regret ist nicht bekannt: %1.</translation>
    </message>
    <message>
        <source> Regret is not known of any; the last column says why.</source>
        <translation> Der Regret ist von keiner bekannt; die letzte Spalte sagt, warum.</translation>
    </message>
    <message>
        <source>Double-click a row or a cell, or press Enter, to add it to the replays.</source>
        <translation>Ein Doppelklick auf eine Zeile oder Zelle, oder die Eingabetaste, fügt sie den Replays hinzu.</translation>
    </message>
    <message>
        <source>Each row, and each cell of the map, is the policy in front, replayed with other parameters. Skipped steps cost training time, underflow costs gradients. No other row beats a starred one in both. Regret is what the policy cost above the best trajectory of loss scales in hindsight, in skipped steps; a step that loses its whole magnitude costs as much as a skip. The best starts where the policy does and moves no further in a step; the free one starts and moves as it likes. Ranges may reach further than the estimate (~), by which rows are ordered and cells are coloured. In a map of more than two parameters the best-ranked policy of a cell is shown. Double-click a row or a cell, or press Enter, to add it to the replays.</source>
        <translation>Jede Zeile und jede Zelle der Karte ist die vordere Strategie, im Replay mit anderen Parametern. Übersprungene Schritte kosten Trainingszeit, Unterlauf kostet Gradienten. Keine andere Zeile schlägt eine mit Stern in beidem. Der Regret ist das, was die Strategie gegenüber dem im Nachhinein besten Verlauf der Loss-Skalierung gekostet hat, in übersprungenen Schritten; ein Schritt, der seinen ganzen Betrag verliert, kostet so viel wie ein übersprungener. Der beste Verlauf beginnt, wo die Strategie beginnt, und bewegt sich in einem Schritt nicht weiter; der freie beginnt und bewegt sich beliebig. Bereiche können weiter reichen als die Schätzung (~), nach der Zeilen geordnet und Zellen gefärbt sind. In einer Karte von mehr als zwei Parametern wird die bestplatzierte Strategie einer Zelle gezeigt. Ein Doppelklick auf eine Zeile oder Zelle, oder die Eingabetaste, fügt sie den Replays hinzu.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::policy_map</name>
    <message>
        <source>Map of the sweep</source>
        <translation>Karte des Sweeps</translation>
    </message>
    <message>
        <source>The same numbers as in the table</source>
        <translation>Die gleichen Zahlen wie in der Tabelle</translation>
    </message>
</context>
<context>
    <name>ulp::gui::reading_editor</name>
    <message>
        <source>Read again</source>
        <translation>Neu lesen</translation>
    </message>
</context>
<context>
    <name>ulp::gui::recording_facts</name>
    <message>
        <source>steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>tensors</source>
        <translation>Tensoren</translation>
    </message>
    <message>
        <source>factor</source>
        <translation>Faktor</translation>
    </message>
    <message>
        <source>checked</source>
        <translation>Geprüft</translation>
    </message>
    <message>
        <source>file</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>%1: %2 to %3</source>
        <translation>%1: %2 bis %3</translation>
    </message>
    <message>
        <source> and %1 more</source>
        <translation> und %1 weitere</translation>
    </message>
</context>
<context>
    <name>ulp::gui::rows_view</name>
    <message>
        <source>&amp;Copy the selected rows</source>
        <translation>Ausgewählte Zeilen &amp;kopieren</translation>
    </message>
    <message>
        <source>Nothing to list.</source>
        <translation>Nichts aufzuführen.</translation>
    </message>
    <message>
        <source>rows %1 to %2 of %3</source>
        <translation>Zeilen %1 bis %2 von %3</translation>
    </message>
    <message>
        <source>one more column</source>
        <translation>eine weitere Spalte</translation>
    </message>
    <message>
        <source>%1 more columns</source>
        <translation>%1 weitere Spalten</translation>
    </message>
    <message>
        <source>, and </source>
        <translation> und </translation>
    </message>
</context>
<context>
    <name>ulp::gui::ruler_strip</name>
    <message>
        <source>What other formats hold at this scale</source>
        <translation>Was andere Formate bei dieser Skalierung darstellen</translation>
    </message>
    <message>
        <source>What other formats hold at this scale; the thin part is subnormal</source>
        <translation>Was andere Formate bei dieser Skalierung darstellen; der dünne Teil ist subnormal</translation>
    </message>
</context>
<context>
    <name>ulp::gui::scale_view</name>
    <message>
        <source>Scale</source>
        <translation>Skalierung</translation>
    </message>
    <message>
        <source>Where does the loss scale settle, and what would another policy do?</source>
        <translation>Wo pendelt sich die Loss-Skalierung ein, und was täte eine andere Strategie?</translation>
    </message>
    <message>
        <source>&amp;Difference to the first replay</source>
        <translation>Di&amp;fferenz zum ersten Replay</translation>
    </message>
    <message>
        <source>&amp;Critical scale</source>
        <translation>&amp;Kritische Skalierung</translation>
    </message>
    <message>
        <source>The largest scale at which the step does not overflow</source>
        <translation>Die größte Skalierung, bei der der Schritt nicht überläuft</translation>
    </message>
    <message>
        <source>%1 (possible: %2 to %3)</source>
        <translation>%1 (möglich: %2 bis %3)</translation>
    </message>
    <message>
        <source>step %1: scale %2%3, next %4</source>
        <translation>Schritt %1: Skalierung %2%3, danach %4</translation>
    </message>
    <message>
        <source> (skipped)</source>
        <translation> (übersprungen)</translation>
    </message>
    <message>
        <source>%1: %2, %3</source>
        <translation>%1: %2, %3</translation>
    </message>
    <message>
        <source>Replaying ...</source>
        <translation>Replay läuft ...</translation>
    </message>
    <message>
        <source>logged by the run</source>
        <translation>vom Lauf geloggt</translation>
    </message>
    <message>
        <source>floor of the policy</source>
        <translation>Untergrenze der Strategie</translation>
    </message>
    <message>
        <source>ceiling of the policy</source>
        <translation>Obergrenze der Strategie</translation>
    </message>
    <message>
        <source>tried out</source>
        <translation>erprobt</translation>
    </message>
    <message>
        <source>least possible</source>
        <translation>kleinste mögliche</translation>
    </message>
    <message>
        <source>greatest possible</source>
        <translation>größte mögliche</translation>
    </message>
    <message>
        <source>critical scale</source>
        <translation>kritische Skalierung</translation>
    </message>
    <message>
        <source>critical scale (%1)</source>
        <translation>kritische Skalierung (%1)</translation>
    </message>
    <message>
        <source>No scale of these steps is above zero and finite.</source>
        <translation>Keine Skalierung dieser Schritte ist endlich und größer als null.</translation>
    </message>
    <message>
        <source>step (ticks at the bottom: skipped by a replay, and overflows that the run logged)</source>
        <translation>Schritt (Striche unten: in einem Replay übersprungen, und Überläufe, die der Lauf geloggt hat)</translation>
    </message>
    <message>
        <source>step (ticks at the bottom: skipped)</source>
        <translation>Schritt (Striche unten: übersprungen)</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>binades above the first replay</source>
        <translation>Binaden über dem ersten Replay</translation>
    </message>
    <message>
        <source>loss scale</source>
        <translation>Loss-Skalierung</translation>
    </message>
    <message>
        <source>The loss scale of each replay, and the thick line that which the run in front logged, with ticks of its colour where it overflowed. The thin line is the critical scale, the largest at which the step would not overflow in the tensors that the scaler checks; others may be larger. Dotted and dashed: where the recording does not decide, the least and the greatest scale that the replay in front may have used, as far as it is another. The key tells how many steps are skipped, and the scale after the last one; ~ marks an estimate. Ticks at the bottom are skipped steps, one row per replay. If there are more steps than pixels, a line spans all its values there.</source>
        <translation>Die Loss-Skalierung jedes Replays und als dicke Linie die, die der vordere Lauf geloggt hat, mit Strichen ihrer Farbe, wo er überlief. Die dünne Linie ist die kritische Skalierung, die größte, bei der der Schritt in den Tensoren, die der Scaler prüft, nicht überliefe; in anderen kann mehr stehen. Gepunktet und gestrichelt: wo die Aufnahme es nicht entscheidet, die kleinste und die größte Skalierung, die das vordere Replay verwendet haben kann, soweit sie abweicht. Die Legende sagt, wie viele Schritte übersprungen werden, und die Skalierung nach dem letzten; ~ kennzeichnet eine Schätzung. Striche unten sind übersprungene Schritte, eine Reihe je Replay. Gibt es mehr Schritte als Pixel, umfasst eine Linie alle ihre Werte dort.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::scaler_choice</name>
    <message>
        <source>Scaler</source>
        <translation>Scaler</translation>
    </message>
    <message>
        <source>search scalers and frameworks</source>
        <translation>Scaler und Frameworks suchen</translation>
    </message>
    <message>
        <source>Search scalers and frameworks</source>
        <translation>Scaler und Frameworks suchen</translation>
    </message>
    <message>
        <source>Scalers by framework</source>
        <translation>Scaler nach Framework</translation>
    </message>
</context>
<context>
    <name>ulp::gui::scenario_editor</name>
    <message>
        <source>Add</source>
        <translation>Neu</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Compare...</source>
        <translation>Vergleichen...</translation>
    </message>
    <message>
        <source>Another replay of the same run</source>
        <translation>Ein weiteres Replay desselben Laufs</translation>
    </message>
    <message>
        <source>Another run, replayed like the first</source>
        <translation>Ein anderer Lauf, mit demselben Replay wie der erste</translation>
    </message>
    <message>
        <source>Replays</source>
        <translation>Replays</translation>
    </message>
    <message>
        <source>Scenario</source>
        <translation>Szenario</translation>
    </message>
    <message>
        <source>Replays; the others are compared with the first</source>
        <translation>Replays; die anderen werden mit dem ersten verglichen</translation>
    </message>
    <message>
        <source>Scaler</source>
        <translation>Scaler</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>Rounding</source>
        <translation>Rundung</translation>
    </message>
    <message>
        <source>Clip</source>
        <translation>Clipping</translation>
    </message>
    <message>
        <source>Order</source>
        <translation>Reihenfolge</translation>
    </message>
    <message>
        <source>Checked</source>
        <translation>Geprüft</translation>
    </message>
    <message>
        <source>Load configuration...</source>
        <translation>Konfiguration laden...</translation>
    </message>
    <message>
        <source>Scaler, parameters, format and clipping from a file of DeepSpeed, NeMo, Accelerate or another framework</source>
        <translation>Scaler, Parameter, Format und Clipping aus einer Datei von DeepSpeed, NeMo, Accelerate oder einem anderen Framework</translation>
    </message>
    <message>
        <source>More</source>
        <translation>Mehr</translation>
    </message>
    <message>
        <source>The other options of ulp replay</source>
        <translation>Die übrigen Optionen von ulp replay</translation>
    </message>
    <message>
        <source>bound</source>
        <translation>Schranke</translation>
    </message>
    <message>
        <source>Bound of clipping</source>
        <translation>Schranke des Clippings</translation>
    </message>
    <message>
        <source>expression; default: by rule</source>
        <translation>Ausdruck; Vorgabe: nach Regel</translation>
    </message>
    <message>
        <source>Any format listed by ulp formats, or eXmY</source>
        <translation>Jedes Format aus ulp formats, oder eXmY</translation>
    </message>
    <message>
        <source>the format&apos;s own</source>
        <translation>die des Formats</translation>
    </message>
    <message>
        <source>never</source>
        <translation>nie</translation>
    </message>
    <message>
        <source>norm</source>
        <translation>Norm</translation>
    </message>
    <message>
        <source>value</source>
        <translation>Wert</translation>
    </message>
    <message>
        <source>The order of unscaling, checking for overflow and clipping. Clipping before unscaling clips to the bound divided by the loss scale; clamping before the check hides infinities. Both mistakes occur in training loops</source>
        <translation>Die Reihenfolge von Entskalieren, Prüfen auf Überlauf und Clipping. Clipping vor dem Entskalieren begrenzt auf die Schranke geteilt durch die Loss-Skalierung; Begrenzen vor der Prüfung verdeckt Unendlich. Beide Fehler kommen in Trainingsschleifen vor</translation>
    </message>
    <message>
        <source>parameter</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Parameters of the scaler; those that differ from its defaults are bold</source>
        <translation>Parameter des Scalers; fett sind die, die von seinen Vorgaben abweichen</translation>
    </message>
    <message>
        <source>%1; default %2</source>
        <translation>%1; Vorgabe %2</translation>
    </message>
</context>
<context>
    <name>ulp::gui::side_panel</name>
    <message>
        <source>Reading options</source>
        <translation>Leseoptionen</translation>
    </message>
    <message>
        <source>Recording</source>
        <translation>Aufnahme</translation>
    </message>
    <message>
        <source>What the inputs do not say themselves: factor, kinds, roles, steps</source>
        <translation>Was die Eingaben nicht selbst sagen: Faktor, Arten, Rollen, Schritte</translation>
    </message>
</context>
<context>
    <name>ulp::gui::start_page</name>
    <message>
        <source>Which layers underflow, and from which step?</source>
        <translation>Welche Schichten laufen unter, und ab welchem Schritt?</translation>
    </message>
    <message>
        <source>Would another loss scaler have skipped fewer steps?</source>
        <translation>Hätte ein anderer Loss-Scaler weniger Schritte übersprungen?</translation>
    </message>
    <message>
        <source>Which format needs no loss scale?</source>
        <translation>Welches Format braucht keine Loss-Skalierung?</translation>
    </message>
    <message>
        <source>Open...</source>
        <translation>Öffnen...</translation>
    </message>
    <message>
        <source>What 16 bits do to the gradients of a training run, exactly.</source>
        <translation>Was 16 Bit mit den Gradienten eines Trainingslaufs machen, exakt.</translation>
    </message>
    <message>
        <source>Open folder...</source>
        <translation>Ordner öffnen...</translation>
    </message>
    <message>
        <source>or drop recordings, dumps or logs here</source>
        <translation>oder Aufnahmen, Dumps oder Logs hier ablegen</translation>
    </message>
    <message>
        <source>Ask the example: a small network that learns digits in float16</source>
        <translation>Das Beispiel befragen: ein kleines Netz, das in float16 Ziffern lernt</translation>
    </message>
    <message>
        <source>Recent</source>
        <translation>Zuletzt geöffnet</translation>
    </message>
</context>
<context>
    <name>ulp::gui::steps_view</name>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>What exactly happened at each step?</source>
        <translation>Was genau geschah in jedem Schritt?</translation>
    </message>
    <message>
        <source>All steps</source>
        <translation>Alle Schritte</translation>
    </message>
    <message>
        <source>Skipped steps</source>
        <translation>Übersprungene Schritte</translation>
    </message>
    <message>
        <source>Steps that overflow</source>
        <translation>Schritte mit Überlauf</translation>
    </message>
    <message>
        <source>Which steps are listed</source>
        <translation>Welche Schritte aufgeführt werden</translation>
    </message>
    <message>
        <source>Steps whose overflow is not decided (~) are listed with those that overflow</source>
        <translation>Schritte, deren Überlauf nicht entschieden ist (~), stehen bei denen mit Überlauf</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%2, davon %1</translation>
    </message>
    <message>
        <source>One row per step of the replay in front, exactly as drawn in the pictures. The marked row is the cursor; skipped steps are tinted. The critical scale, rounded down, is the largest at which the step does not overflow; ~ marks what the input does not decide. Click a header to sort, a third time for the order of the steps; Ctrl+C copies the selected rows. Exported numbers are those of ulp replay.</source>
        <translation>Eine Zeile je Schritt des vorderen Replays, genau wie in den Bildern gezeichnet. Die markierte Zeile ist der Cursor; übersprungene Schritte sind getönt. Die kritische Skalierung, abgerundet, ist die größte, bei der der Schritt nicht überläuft; ~ kennzeichnet, was die Eingabe nicht entscheidet. Ein Klick auf eine Spaltenüberschrift sortiert, ein dritter stellt die Reihenfolge der Schritte wieder her; Strg+C kopiert die ausgewählten Zeilen. Exportierte Zahlen sind die von ulp replay.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::story</name>
    <message>
        <source>The run has no steps.</source>
        <translation>Der Lauf hat keine Schritte.</translation>
    </message>
    <message>
        <source>Amaxes alone are known: no loss scale is judged.</source>
        <translation>Nur amax-Werte sind bekannt: Keine Loss-Skalierung wird beurteilt.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::tensor_scales_view</name>
    <message>
        <source>Tensor scales</source>
        <translation>Tensorskalen</translation>
    </message>
    <message>
        <source>Would each tensor&apos;s scale fit it in FP8, and which tensor&apos;s would not?</source>
        <translation>Würde die eigene Skalierung jeden Tensor in FP8 passen lassen, und welchen nicht?</translation>
    </message>
    <message>
        <source>&amp;Amax</source>
        <translation>A&amp;max</translation>
    </message>
    <message>
        <source>FP8 recipe</source>
        <translation>FP8-Rezept</translation>
    </message>
    <message>
        <source>Parameters of the recipe</source>
        <translation>Parameter des Rezepts</translation>
    </message>
    <message>
        <source>margin=1 ...</source>
        <translation>margin=1 ...</translation>
    </message>
    <message>
        <source>What differs from the policy&apos;s defaults, as --set has it; ulp scalers lists the parameters</source>
        <translation>Was von den Vorgaben der Strategie abweicht, wie bei --set; ulp scalers führt die Parameter auf</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>The largest magnitude in the step</source>
        <translation>Der größte Betrag im Schritt</translation>
    </message>
    <message>
        <source>Recipe</source>
        <translation>Rezept</translation>
    </message>
    <message>
        <source>The filter leaves no tensor that is cast under %1.</source>
        <translation>Der Filter lässt keinen Tensor übrig, der unter %1 gewandelt wird.</translation>
    </message>
    <message>
        <source>The scales that the recording holds of its own run are not of %1: choose another tensor.</source>
        <translation>Die Skalierungen des eigenen Laufs in der Aufnahme sind nicht von %1: einen anderen Tensor wählen.</translation>
    </message>
    <message>
        <source>%1 is not cast under %2: %3.</source>
        <translation>%1 wird unter %2 nicht gewandelt: %3.</translation>
    </message>
    <message>
        <source>the worst: %1</source>
        <translation>der schlimmste: %1</translation>
    </message>
    <message>
        <source>Replaying %1: %2 %</source>
        <translation>Replay von %1: %2 %</translation>
    </message>
    <message>
        <source>amax</source>
        <translation>amax</translation>
    </message>
    <message>
        <source>ideal scale (as the scale used)</source>
        <translation>ideale Skalierung (gleich der verwendeten)</translation>
    </message>
    <message>
        <source>ideal scale</source>
        <translation>ideale Skalierung</translation>
    </message>
    <message>
        <source>the run&apos;s own scale</source>
        <translation>Skalierung des Laufs selbst</translation>
    </message>
    <message>
        <source>scale used</source>
        <translation>verwendete Skalierung</translation>
    </message>
    <message>
        <source>No scale or amax of these steps is above zero and finite.</source>
        <translation>Keine Skalierung und kein amax dieser Schritte ist endlich und größer als null.</translation>
    </message>
    <message>
        <source>ticks at the bottom: saturates</source>
        <translation>Striche unten: sättigt</translation>
    </message>
    <message>
        <source>ticks at the top: scale held</source>
        <translation>Striche oben: Skalierung gehalten</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>step (%1)</source>
        <translation>Schritt (%1)</translation>
    </message>
    <message>
        <source>scale, amax</source>
        <translation>Skalierung, amax</translation>
    </message>
    <message>
        <source>scale</source>
        <translation>Skalierung</translation>
    </message>
    <message>
        <source>%1, %2: saturates in %3, off by more than a binade in %4</source>
        <translation>%1, %2: sättigt in %3, um mehr als eine Binade daneben in %4</translation>
    </message>
    <message>
        <source>, first at step %1</source>
        <translation>, zuerst in Schritt %1</translation>
    </message>
    <message>
        <source>; scale held in %1</source>
        <translation>; Skalierung gehalten in %1</translation>
    </message>
    <message>
        <source>. Amaxes alone are known: values are not counted.</source>
        <translation>. Nur amax-Werte sind bekannt: Werte werden nicht gezählt.</translation>
    </message>
    <message>
        <source>. Saturated: %1 of the nonzero values, underflow: %2.</source>
        <translation>. Gesättigt: %1 der Werte ungleich null, Unterlauf: %2.</translation>
    </message>
    <message>
        <source> The run&apos;s own scales are the replay&apos;s in %1.</source>
        <translation> Die Skalierungen des Laufs selbst sind die des Replays in %1.</translation>
    </message>
    <message>
        <source>step %1: amax %2</source>
        <translation>Schritt %1: amax %2</translation>
    </message>
    <message>
        <source>scale used %1%2</source>
        <translation>verwendete Skalierung %1%2</translation>
    </message>
    <message>
        <source> (held)</source>
        <translation> (gehalten)</translation>
    </message>
    <message>
        <source>ideal %1: off by %2 binades</source>
        <translation>ideal %1: um %2 Binaden daneben</translation>
    </message>
    <message>
        <source>the run&apos;s own %1</source>
        <translation>die des Laufs selbst %1</translation>
    </message>
    <message>
        <source>%1 values saturated, %2 underflow</source>
        <translation>%1 Werte gesättigt, %2 Unterlauf</translation>
    </message>
    <message>
        <source>The run replayed under an FP8 recipe, in which each tensor has a scale of its own. One tensor is shown: the worst of those that the filter leaves, or the one that is chosen, which all views then show. The thick line is what its values are multiplied by before they are rounded, the dashed one the ideal scale, which would take the largest magnitude (amax, the thin line) to the format&apos;s largest number. Above the ideal scale values saturate; far below it small values are lost. Where amax is zero, infinite or NaN there is no ideal. Ticks at the bottom are steps in which values saturate, ticks at the top steps in which an infinite or NaN amax, of the step or of those remembered, kept the scale as it was. The worst tensor had such an amax, or else saturates in the most steps, or else loses the most values to underflow. Where the recording holds the scales of its own run, the pale line is what that multiplied by. The replay is of the recorded values: training under these scales would have gone elsewhere.</source>
        <translation>Das Replay des Laufs unter einem FP8-Rezept, in dem jeder Tensor eine eigene Skalierung hat. Ein Tensor wird gezeigt: der schlimmste von denen, die der Filter übrig lässt, oder der ausgewählte, den dann alle Ansichten zeigen. Die dicke Linie ist das, womit seine Werte vor dem Runden multipliziert werden, die gestrichelte die ideale Skalierung, die den größten Betrag (amax, die dünne Linie) auf die größte Zahl des Formats brächte. Über der idealen Skalierung sättigen Werte; weit darunter gehen kleine Werte verloren. Wo amax null, unendlich oder NaN ist, gibt es keine ideale. Striche unten sind Schritte, in denen Werte sättigen, Striche oben Schritte, in denen ein unendliches oder NaN-amax, des Schritts oder eines gemerkten, die Skalierung festhielt. Der schlimmste Tensor hatte ein solches amax, oder sättigt sonst in den meisten Schritten, oder verliert sonst die meisten Werte durch Unterlauf. Enthält die Aufnahme die Skalierungen ihres eigenen Laufs, ist die blasse Linie das, womit dieser multiplizierte. Das Replay verwendet die aufgezeichneten Werte: Ein Training mit diesen Skalierungen wäre anders verlaufen.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::view</name>
    <message>
        <source>No run is open. Open a recording, dumps or a log, or drop them here.</source>
        <translation>Kein Lauf ist geöffnet. Eine Aufnahme, Dumps oder ein Log öffnen oder hier ablegen.</translation>
    </message>
    <message>
        <source>The run has no steps.</source>
        <translation>Der Lauf hat keine Schritte.</translation>
    </message>
    <message>
        <source>Amaxes alone are known of this run: Tensor scales shows them.</source>
        <translation>Von diesem Lauf sind nur amax-Werte bekannt: „Tensorskalen“ zeigt sie.</translation>
    </message>
    <message>
        <source>The run has no tensors: there is nothing to show here.</source>
        <translation>Der Lauf hat keine Tensoren: Hier gibt es nichts zu zeigen.</translation>
    </message>
</context>
<context>
    <name>ulp::gui::window_view</name>
    <message>
        <source>Window</source>
        <translation>Wertebereich</translation>
    </message>
    <message>
        <source>Do the gradients fit the format, and when do they fall out of it?</source>
        <translation>Passen die Gradienten ins Format, und wann fallen sie heraus?</translation>
    </message>
    <message>
        <source>Steps run from left to right and gradient magnitudes from bottom to top, one binade per row; stronger colour means more gradients. The lines are the limits of the format, moved by the loss scale of each step: above the upper line gradients overflow, below the thin line they become subnormal, below the lowest they become zero. Where a limit or a gradient lies outside the picture, a triangle at the edge says so. Ticks at the top are skipped steps. Hatched steps have no finite nonzero gradient. The rows below show what the run logged; ticks in them are infinite or NaN values. Shift and the wheel zoom the gradients, the middle button moves the picture, and a double-click on the labels at the left fits it again.</source>
        <translation>Die Schritte laufen von links nach rechts, die Beträge der Gradienten von unten nach oben, eine Binade je Zeile; kräftigere Farbe heißt mehr Gradienten. Die Linien sind die Grenzen des Formats, verschoben um die Loss-Skalierung jedes Schritts: Über der oberen Linie laufen Gradienten über, unter der dünnen werden sie subnormal, unter der untersten null. Liegt eine Grenze oder ein Gradient außerhalb des Bilds, zeigt das ein Dreieck am Rand. Striche oben sind übersprungene Schritte. Schraffierte Schritte haben keinen endlichen Gradienten ungleich null. Die Zeilen darunter zeigen, was der Lauf geloggt hat; Striche darin sind unendliche oder NaN-Werte. Umschalt mit dem Mausrad zoomt die Gradienten, die mittlere Maustaste verschiebt das Bild, und ein Doppelklick auf die Beschriftungen links passt es wieder ein.</translation>
    </message>
</context>
</TS>
